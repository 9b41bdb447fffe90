import type { Network, PaymentAsset } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant } from '../../postgres/transaction.ts'

export type SecondCheckpoint = { readonly height: number; readonly hash: string }

/**
 * Where the second reading of a network stands; where it has not begun it begins at the checkpoint, below which no
 * address of ours was ever paid. Null where there is no checkpoint. Served by the primary key.
 */
export async function beginSecondReading(db: Queryable, network: Network): Promise<SecondCheckpoint | null> {
  const { rows } = await db.query<{ second_height: number | null; second_hash: string | null }>(
    `update network_state set second_height = case when second_hash is null then height else second_height end,
       second_hash = coalesce(second_hash, hash)
     where network = $1 returning second_height, second_hash`,
    [network],
  )
  const [row] = rows
  if (row === undefined || row.second_height === null || row.second_hash === null) return null
  return { height: row.second_height, hash: row.second_hash }
}

/** Moves the second reading on, guarded by where it stood; false where a reorganisation took it elsewhere meanwhile. */
export async function moveSecondReading(
  db: Queryable,
  network: Network,
  from: SecondCheckpoint,
  to: SecondCheckpoint,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `update network_state set second_height = $4, second_hash = $5
     where network = $1 and second_height = $2 and second_hash = $3 and height >= $4`,
    [network, from.height, from.hash, to.height, to.hash],
  )
  return rowCount === 1
}

/** Puts the second reading back to a block, if it has come further. Served by the primary key. */
export async function lowerSecondReading(
  db: Queryable,
  network: Network,
  to: SecondCheckpoint,
): Promise<void> {
  await db.query(
    'update network_state set second_height = $2, second_hash = $3 where network = $1 and second_height > $2',
    [network, to.height, to.hash],
  )
}

/** What is recorded of these assets in a range of blocks, `from` not included, `to` included. */
type RecordedCredit = {
  readonly tenant: Tenant
  readonly invoiceId: string
  readonly txid: string
  readonly outputIndex: number
  readonly asset: PaymentAsset
  readonly amount: bigint
  readonly blockHash: string
}

type CreditRow = {
  merchant_id: string
  livemode: boolean
  invoice_id: string
  txid: string
  output_index: number
  asset: PaymentAsset
  amount: bigint
  block_hash: string
}

/** Of these assets, or of all. Served by transfer_by_height. */
export async function listCreditsBetween(
  db: Queryable,
  network: Network,
  assets: readonly PaymentAsset[] | null,
  range: { readonly from: number; readonly to: number },
): Promise<RecordedCredit[]> {
  const { rows } = await db.query<CreditRow>(
    `select merchant_id, livemode, invoice_id, txid, output_index, asset, amount, block_hash from transfer_part
     where network = $1 and block_height > $2 and block_height <= $3 and block_height is not null
       and ($4::text[] is null or asset = any($4)) and left_on_chain is null`,
    [network, range.from, range.to, assets],
  )
  return rows.map(creditFromRow)
}

const creditFromRow = (row: CreditRow): RecordedCredit => ({
  tenant: { merchantId: row.merchant_id, livemode: row.livemode },
  invoiceId: row.invoice_id,
  txid: row.txid,
  outputIndex: row.output_index,
  asset: row.asset,
  amount: row.amount,
  blockHash: row.block_hash,
})
