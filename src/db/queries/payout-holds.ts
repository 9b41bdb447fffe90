import type { Payout } from '../../core/payout/payout.ts'
import type { Queryable } from '../pool.ts'

/** Says why the signer holds an approved payout back, in place of what it said before. By primary key. */
export async function savePayoutHold(
  db: Queryable,
  { merchantId, id, livemode }: Payout,
  hold: { readonly reason: string; readonly until: Date | null; readonly now: Date },
): Promise<void> {
  await db.query(
    `insert into payout_hold (merchant_id, payout_id, livemode, reason, until, held_at) values ($1, $2, $3, $4, $5, $6)
     on conflict (merchant_id, payout_id) do update
     set reason = excluded.reason, until = excluded.until, held_at = excluded.held_at`,
    [merchantId, id, livemode, hold.reason, hold.until, hold.now],
  )
}

/** How many approved payouts the signer holds back for each reason, and until when the first. Served by payout_under_way. */
export async function countPayoutHolds(
  db: Queryable,
): Promise<{ readonly reason: string; readonly count: number; readonly until: Date | null }[]> {
  const { rows } = await db.query<{ reason: string; count: number; until: Date | null }>(
    `select h.reason, count(*)::int as count, min(h.until) as until
     from payout p join payout_hold h on h.merchant_id = p.merchant_id and h.payout_id = p.id
     where p.status = 'approved'
       and not exists (select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id)
     group by h.reason order by h.reason`,
  )
  return rows
}
