import type { AssetId, Network } from '../../core/assets.ts'
import { isSweptByDelegation, keyspaceOfNetwork } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { lockUnsigned } from './payout-transactions.ts'
import { IS_SIGNED, LOST_DEPOSIT, ORPHANED } from './sweeps.ts'

/** Deposits of one address that may be swept together. */
export type SweepableAddress = {
  readonly address: Buffer
  readonly keyIndex: number
  readonly amount: bigint
  readonly transferIds: readonly string[]
  /** The first nonce of the address that no signed sweep of it has, or delegates it with; 0 where none was signed. */
  readonly nonceMin: number
}

/** More addresses than one payout is ever swept from; the largest come first. */
const ADDRESSES_MAX = 500

/**
 * The addresses whose final deposits of an asset stand in the merchant's available balance and were not swept, largest
 * first; an address that is being swept comes after that, also where it is swept of another asset and that takes, or this
 * one would take, a nonce of its own. Served by transfer's and sweep_transfer's keys.
 */
async function listSweepable(
  db: Queryable,
  tenant: Tenant,
  of: { readonly network: Network; readonly asset: AssetId },
): Promise<SweepableAddress[]> {
  const { rows } = await db.query<SweepableAddress>(
    `select d.program as address, d.idx as "keyIndex", sum(t.amount) as amount, array_agg(t.id order by t.id) as "transferIds",
       coalesce((select max(greatest(s.nonce, case when s.status <> 'failed' then s.delegation_nonce end)) + 1 from sweep s where s.merchant_id = $1 and s.network = $3 and s.address = d.program
         and ${IS_SIGNED}), 0) as "nonceMin"
     from transfer t join deposit_address d
       on d.merchant_id = t.merchant_id and d.invoice_id = t.invoice_id and d.keyspace = $5
     where t.merchant_id = $1 and t.livemode = $2 and t.network = $3 and t.asset = $4 and t.status = 'confirmed'
       and t.ledger_bucket = 'available' and t.left_on_chain is null and t.amount > 0
       and not exists (select from sweep_transfer s where s.merchant_id = t.merchant_id and s.transfer_id = t.id)
       and not exists (select from sweep w where w.merchant_id = t.merchant_id and w.network = t.network
         and w.address = d.program and w.status = 'planned' and w.amount > 0
         and (w.asset = t.asset or w.delegation_nonce is not null or ($6 and w.nonce is not null)))
     group by d.program, d.idx order by sum(t.amount) desc, d.idx limit ${ADDRESSES_MAX}`,
    [
      tenant.merchantId,
      tenant.livemode,
      of.network,
      of.asset,
      keyspaceOfNetwork(of.network),
      isSweptByDelegation(of.asset),
    ],
  )
  return rows
}

/** A sweep that is in no block, and whose payout failed meanwhile, or was signed before the sweep was. */
type OrphanSweep = {
  readonly id: string
  readonly amount: bigint
  /** It may happen whether or not anybody needs it, and somebody has to pay what it takes. */
  readonly isSigned: boolean
}

/** Where money for a merchant's payouts can come from that is not in the hot wallet and not on its way. */
type SweepSources = {
  /** Sweeps that can be assigned to another payout: signed ones first, then the largest. */
  readonly orphans: readonly OrphanSweep[]
  readonly addresses: readonly SweepableAddress[]
  /** What of both together is worth no more than each one's sweep takes: it waits for a cheaper hour. */
  readonly dust: bigint
}

/** `cost`: what a sweep takes of its amount. Served by sweep_by_asset, and by transfer's and sweep_transfer's keys. */
export async function listSweepSources(
  db: Queryable,
  tenant: Tenant,
  of: { readonly network: Network; readonly asset: AssetId; readonly cost: bigint },
): Promise<SweepSources> {
  const { rows } = await db.query<OrphanSweep>(
    `select s.id, s.amount, ${IS_SIGNED} as "isSigned" from sweep s
     where s.merchant_id = $1 and s.livemode = $2 and s.network = $3 and s.asset = $4 and s.status = 'planned'
       and ${ORPHANED} and not ${LOST_DEPOSIT}
     order by "isSigned" desc, s.amount desc, s.id limit ${ADDRESSES_MAX}`,
    [tenant.merchantId, tenant.livemode, of.network, of.asset],
  )
  const found = await listSweepable(db, tenant, of)
  const isWorth = ({ amount }: { readonly amount: bigint }) => amount > of.cost
  const dust = [...rows, ...found].filter((each) => !isWorth(each))
  return {
    orphans: rows.filter(isWorth),
    addresses: found.filter(isWorth),
    dust: dust.reduce((sum, { amount }) => sum + amount, 0n),
  }
}

/**
 * Assigns an orphaned sweep to another payout. False if it was assigned already, or nobody needs it any more: that payout
 * was signed, or is over. By primary keys.
 */
export async function adoptSweep(
  tx: Tx,
  { merchantId, livemode }: Tenant,
  { sweepId, payoutId }: { readonly sweepId: string; readonly payoutId: string },
): Promise<boolean> {
  if (!(await lockUnsigned(tx, { merchantId, livemode }, payoutId))) return false
  const { rowCount } = await tx.query(
    `update sweep s set payout_id = $4 where s.merchant_id = $1 and s.livemode = $2 and s.id = $3
       and s.status = 'planned' and ${ORPHANED} and not ${LOST_DEPOSIT}`,
    [merchantId, livemode, sweepId, payoutId],
  )
  return rowCount === 1
}
