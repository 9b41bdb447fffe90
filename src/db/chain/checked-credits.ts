import type { Keyspace, Network, PaymentAsset } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant } from '../../postgres/transaction.ts'

/** A credit that is recorded of a block, with the address that it came to. */
export type RecordedClaim = {
  readonly tenant: Tenant
  readonly invoiceId: string
  readonly paymentId: string
  readonly txid: string
  readonly outputIndex: number
  readonly asset: PaymentAsset
  readonly amount: bigint
  /** Hex. */
  readonly addressBytes: string
  readonly block: { readonly height: number; readonly hash: string }
}

/**
 * Everything that is recorded of the blocks, up to `height`, which hold a credit of these assets that is not final and
 * was not found a second time yet: what is settled in them as well, since an address's sum is judged. Served by
 * transfer_unchecked, transfer_by_height and deposit_address_by_invoice.
 */
export async function listUncheckedClaims(
  db: Queryable,
  from: { network: Network; keyspace: Keyspace; assets: readonly PaymentAsset[]; height: number },
): Promise<RecordedClaim[]> {
  const { rows } = await db.query<{
    merchant_id: string
    livemode: boolean
    invoice_id: string
    id: string
    txid: string
    output_index: number
    asset: PaymentAsset
    amount: bigint
    addressBytes: Buffer
    block_height: number
    block_hash: string
  }>(
    `select t.merchant_id, t.livemode, t.invoice_id, t.id, t.txid, t.output_index, t.asset, t.amount, d.program as "addressBytes",
       t.block_height, t.block_hash
     from transfer t join deposit_address d
       on d.merchant_id = t.merchant_id and d.invoice_id = t.invoice_id and d.keyspace = $2
     where t.network = $1 and t.left_on_chain is null and t.asset = any($3) and t.block_hash is not null
       and (t.block_height, t.block_hash) in (
         select block_height, block_hash from transfer
         where network = $1 and block_height <= $4 and left_on_chain is null and asset = any($3)
           and status in ('detected', 'confirming') and block_hash is not null
           and checked_block_hash is distinct from block_hash)
     order by t.block_height, t.merchant_id, t.id`,
    [from.network, from.keyspace, from.assets, from.height],
  )
  return rows.map((row) => ({
    tenant: { merchantId: row.merchant_id, livemode: row.livemode },
    invoiceId: row.invoice_id,
    paymentId: row.id,
    txid: row.txid,
    outputIndex: row.output_index,
    asset: row.asset,
    amount: row.amount,
    addressBytes: row.addressBytes.toString('hex'),
    block: { height: row.block_height, hash: row.block_hash },
  }))
}

/** Notes that these credits were found a second time in their block; guarded by it and the amount. Served by the primary key. */
export async function saveChecked(db: Queryable, claims: readonly RecordedClaim[]): Promise<void> {
  await db.query(
    `update transfer set checked_block_hash = block_hash
     where (merchant_id, id, block_hash, amount) in (
       select * from unnest($1::text[], $2::text[], $3::text[], $4::numeric[]))`,
    [
      claims.map(({ tenant }) => tenant.merchantId),
      claims.map(({ paymentId }) => paymentId),
      claims.map(({ block }) => block.hash),
      claims.map(({ amount }) => amount),
    ],
  )
}
