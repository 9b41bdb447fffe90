import type { Payout } from '../../core/payout/payout.ts'
import type { Queryable } from '../../postgres/pool.ts'

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

export type StoppedPayout = {
  readonly merchantId: string
  readonly id: string
  readonly reason: string
  /** Null: until somebody changes what the reason says. */
  readonly until: Date | null
}

/** Approved payouts that the signer holds back, the earliest to continue first. Served by payout_under_way. */
export async function listPayoutHolds(db: Queryable, limit: number): Promise<StoppedPayout[]> {
  const { rows } = await db.query<StoppedPayout>(
    `select h.merchant_id as "merchantId", h.payout_id as id, h.reason, h.until
     from payout p join payout_hold h on h.merchant_id = p.merchant_id and h.payout_id = p.id
     where p.status = 'approved'
       and not exists (select from payout_transaction t where t.merchant_id = p.merchant_id and t.payout_id = p.id)
     order by h.until nulls last, h.payout_id limit $1`,
    [limit],
  )
  return rows
}

/** Live payouts that the signer refused since a moment for one of these codes, the newest first. Reads payout_refusal. */
export async function listRefusals(
  db: Queryable,
  codes: readonly string[],
  { since, limit }: { readonly since: Date; readonly limit: number },
): Promise<StoppedPayout[]> {
  const { rows } = await db.query<StoppedPayout>(
    `select merchant_id as "merchantId", payout_id as id, code as reason, null as until
     from payout_refusal where livemode and code = any($1) and created_at >= $2 order by created_at desc limit $3`,
    [codes, since, limit],
  )
  return rows
}
