import type { AssetId, Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant } from '../../postgres/transaction.ts'
import { LOST_DEPOSIT, ORPHANED } from './sweeps.ts'

/**
 * What of a merchant's money is in the hot wallet and no payout's: what was swept, without all payouts that were signed and
 * did not fail. `planned` counts sweeps that are still to come as well, but for orphaned ones. What is done with is in
 * hot_credit; the rest is served by sweep_under_way and payout_under_way.
 */
export async function loadSweptCredit(
  db: Queryable,
  tenant: Tenant,
  of: { readonly network: Network; readonly asset: AssetId; readonly counts: 'done' | 'planned' },
): Promise<bigint> {
  const { rows } = await db.query<{ credit: bigint }>(
    `select coalesce((select amount from hot_credit
         where merchant_id = $1 and livemode = $2 and network = $3 and asset = $4), 0)
       + (select coalesce(sum(s.amount), 0) from sweep s where $5 and s.network = $3 and s.asset = $4 and s.merchant_id = $1
         and s.livemode = $2 and s.status = 'planned' and s.final_at is null and not ${LOST_DEPOSIT} and not ${ORPHANED})
       - (select coalesce(sum(p.amount), 0) from payout p
          where p.merchant_id = $1 and p.livemode = $2 and p.network = $3 and p.asset = $4
            and p.status in ('approved', 'submitted')
            and exists (select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id))
       as credit`,
    [tenant.merchantId, tenant.livemode, of.network, of.asset, of.counts === 'planned'],
  )
  return rows[0]?.credit ?? 0n
}

/** What open payouts of an asset that nothing was signed for, and that were not refused, are to take of that, but for one's own. Served by payout_by_mode. */
export async function sumUnsignedPayouts(
  db: Queryable,
  tenant: Tenant,
  of: { readonly network: Network; readonly asset: AssetId; readonly before: string | null },
): Promise<bigint> {
  const { rows } = await db.query<{ total: bigint }>(
    `select coalesce(sum(p.amount), 0) as total from payout p
     where p.merchant_id = $1 and p.livemode = $2 and p.network = $3 and p.asset = $4
       and p.status in ('requested', 'approved') and ($5::text is null or (p.status = 'approved' and p.id < $5))
       and not exists (select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id)
       and not exists (select from payout_refusal r where r.merchant_id = p.merchant_id and r.payout_id = p.id)`,
    [tenant.merchantId, tenant.livemode, of.network, of.asset, of.before],
  )
  return rows[0]?.total ?? 0n
}

/**
 * What of a merchant's was signed and moved nothing: sweeps that are in no block, and payouts that failed. By
 * sweep_not_done and payout_failed.
 */
export async function listUnmoved(
  db: Queryable,
  tenant: Tenant,
  of: { readonly network: Network; readonly asset: AssetId },
): Promise<{ readonly unlanded: string[]; readonly failed: string[] }> {
  const { rows } = await db.query<{ unlanded: string[]; failed: string[] }>(
    `select array(select id from sweep where merchant_id = $1 and livemode = $2 and network = $3 and asset = $4
         and status <> 'done') as unlanded,
       array(select id from payout where merchant_id = $1 and livemode = $2 and network = $3 and asset = $4
         and status = 'failed') as failed`,
    [tenant.merchantId, tenant.livemode, of.network, of.asset],
  )
  return rows[0] ?? { unlanded: [], failed: [] }
}
