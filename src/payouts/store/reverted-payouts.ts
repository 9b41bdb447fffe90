import type { Payout } from '../../core/payout/payout.ts'
import type { Queryable } from '../../postgres/pool.ts'

/**
 * Whether a payout that takes gas from a shared hot wallet may take it in vain: `reverted` where one of its merchant's, of the
 * same source, did so since then, at the same destination or, where this one `runsCode`, anywhere; `under_way` where one that
 * runs code, by more gas than `usual`, is signed and not ended. Served by payout_failed and payout_under_way.
 */
export async function findGasRisk(
  db: Queryable,
  { merchantId, network, asset, source, id, destination }: Payout,
  of: { readonly since: Date; readonly runsCode: boolean; readonly usual: bigint },
): Promise<'reverted' | 'under_way' | null> {
  const { rows } = await db.query<{ reverted: boolean; under_way: boolean }>(
    `select exists (select from payout where merchant_id = $1 and network = $2 and asset = $3 and source = $4
         and status = 'failed' and failure_code = 'reverted' and failed_at > $5 and ($6 or destination = $7)) as reverted,
       $6 and exists (select from payout p
         join payout_gas g on g.merchant_id = p.merchant_id and g.payout_id = p.id and g.gas > $8
         join payout_transaction t on t.merchant_id = p.merchant_id and t.payout_id = p.id
         where p.merchant_id = $1 and p.network = $2 and p.asset = $3 and p.source = $4 and p.id <> $9
           and p.status in ('approved', 'submitted')) as under_way`,
    [merchantId, network, asset, source, of.since, of.runsCode, destination, of.usual, id],
  )
  const [row] = rows
  if (row?.reverted === true) return 'reverted'
  return row?.under_way === true ? 'under_way' : null
}
