import type { Network } from '../../core/assets.ts'
import type { Queryable } from '../../postgres/pool.ts'

/** Recorded as requester and approver of payouts brought back from the journal: the approval itself is lost. */
export const JOURNAL_APPROVER = 'signer_journal'

/** Statuses that a signed payout has only in a database that was set back to before its approval. */
const FORGOTTEN = `('requested', 'rejected')`

/** Which of these payouts the database knows as approved at least, or the operator has accepted as lost. A look at each id, once a start. */
export async function listAccountedPayouts(db: Queryable, ids: readonly string[]): Promise<string[]> {
  const { rows } = await db.query<{ id: string }>(
    `select id from payout where id = any($1) and status not in ${FORGOTTEN}
     union select payout_id from lost_payout where payout_id = any($1) and accepted_at is not null`,
    [ids],
  )
  return rows.map(({ id }) => id)
}

/** Keeps that the signer misses these payouts, by id and network. By primary key. */
export async function insertLostPayouts(
  db: Queryable,
  lost: ReadonlyMap<string, Network>,
  now: Date,
): Promise<void> {
  await db.query(
    `insert into lost_payout (payout_id, network, found_at)
     select lost.id, lost.network, $3 from unnest($1::text[], $2::text[]) as lost (id, network) on conflict do nothing`,
    [[...lost.keys()], [...lost.values()], now],
  )
}

/** How many payouts of each network the signer misses. A handful of rows. */
export async function countLostPayouts(
  db: Queryable,
): Promise<{ readonly network: Network; readonly count: number }[]> {
  const { rows } = await db.query<{ network: Network; count: number }>(
    `select network, count(*)::int as count from lost_payout l
     where accepted_at is null and not exists (
       select from payout p where p.id = l.payout_id and p.status not in ${FORGOTTEN})
     group by network order by network`,
  )
  return rows
}

/** Says that the books hold a lost payout otherwise. By primary key. */
export async function acceptLostPayout(
  db: Queryable,
  lost: { readonly id: string; readonly network: Network },
  now: Date,
): Promise<void> {
  await db.query(
    `insert into lost_payout (payout_id, network, found_at, accepted_at) values ($1, $2, $3, $3)
     on conflict (payout_id) do update set accepted_at = coalesce(lost_payout.accepted_at, excluded.accepted_at)`,
    [lost.id, lost.network, now],
  )
}
