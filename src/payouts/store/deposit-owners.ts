import { type AssetId, keyspaceOfNetwork, type Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Sweep } from './sweeps.ts'
import { sweptOf } from './vault-sweeps.ts'

/**
 * What a sweep's deposits are worth: final, in the available balance, of its own merchant, and paid to an invoice to which
 * this address was given. Who may write a sweep may not write whose an address is. By sweep_transfer_by_sweep and keys.
 */
export async function sumOwnDeposits(
  db: Queryable,
  sweep: Pick<Sweep, 'merchantId' | 'livemode' | 'id' | 'network' | 'asset' | 'keyIndex'>,
  address: Uint8Array,
): Promise<bigint> {
  const { rows } = await db.query<{ total: bigint }>(
    `select coalesce(sum(t.amount), 0) as total from sweep_transfer l
     join transfer t on t.merchant_id = l.merchant_id and t.id = l.transfer_id and t.livemode = l.livemode
     join deposit_address d on d.merchant_id = t.merchant_id and d.invoice_id = t.invoice_id and d.livemode = t.livemode
     where l.merchant_id = $1 and l.sweep_id = $2 and l.livemode = $3 and t.network = $4 and t.asset = $5
       and t.status = 'confirmed' and t.ledger_bucket = 'available' and t.left_on_chain is null
       and d.keyspace = $6 and d.idx = $7 and d.program = $8`,
    [
      sweep.merchantId,
      sweep.id,
      sweep.livemode,
      sweep.network,
      sweep.asset,
      keyspaceOfNetwork(sweep.network),
      sweep.keyIndex,
      Buffer.from(address),
    ],
  )
  return rows[0]?.total ?? 0n
}

/** Whose a deposit address is, and what of an asset lies there by the books: paid to it for good, and neither swept nor about to be. */
export type SweptSource = {
  readonly index: number
  readonly addressBytes: Buffer
  readonly merchantId: string
  readonly expected: bigint
}

/**
 * The owners of deposit addresses that are to be swept. Served by
 * deposit_address_by_program, transfer_by_invoice, solana_chore_swept and solana_chore_open.
 */
export async function listSweptSources(
  db: Queryable,
  {
    network,
    keyspace,
    asset,
  }: { readonly network: Network; readonly keyspace: string; readonly asset: AssetId },
  addresses: readonly Buffer[],
): Promise<SweptSource[]> {
  const { rows } = await db.query<SweptSource>(
    `select d.merchant_id as "merchantId", d.idx as index, d.program as "addressBytes",
       coalesce((select sum(t.amount) from transfer t where t.merchant_id = d.merchant_id and t.invoice_id = d.invoice_id
           and t.livemode = d.livemode and t.network = $1 and t.asset = $4 and t.status = 'confirmed'
           and t.left_on_chain is null), 0)
         - ${sweptOf({ asset: '$4', index: 'd.idx', kept: 'c.landed' })}
         - ${sweptOf({ asset: '$4', index: 'd.idx', kept: 'c.ended_at is null and c.txid is not null' })} as expected
     from deposit_address d where d.keyspace = $2 and d.program = any($3)`,
    [network, keyspace, addresses, asset],
  )
  return rows
}
