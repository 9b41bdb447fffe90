import { OUTAGE_MS_MIN } from '../../core/endpoint/throttle.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'
import type { ClaimedDelivery } from './deliveries.ts'

/** One finished attempt, as it is recorded. */
export type FinishedAttempt = {
  readonly merchantId: string
  readonly deliveryId: string
  readonly leaseId: string
  readonly attemptId: string
  readonly httpStatus: number | null
  readonly code: string
  readonly durationMs: number
}

/** Columns of an attempt; `gone` is the row of the delivery it belongs to, `f` what came of it. */
const INSERT_ATTEMPTS = (source: string): string => `
  insert into attempt
    (merchant_id, id, livemode, event_id, endpoint_id, number, http_status, code, duration_ms, created_at)
  select g.merchant_id, f.attempt_id, g.livemode, g.event_id, g.endpoint_id, g.attempt,
    f.http_status, f.code, f.duration_ms, now()
  from ${source} g join finished f on f.merchant_id = g.merchant_id and f.id = g.id`

const FINISHED = `finished as materialized (
  select * from unnest($1::text[], $2::text[], $3::uuid[], $4::text[], $5::int[], $6::text[], $7::int[])
    as f (merchant_id, id, lease_id, attempt_id, http_status, code, duration_ms))`

/** Rows of `finished` whose lease is still the one that sent them, each looked up by the delivery's key. */
const HELD_CTIDS = `array(
  select held.ctid from finished f cross join lateral (
    select d.ctid from delivery d
    where d.merchant_id = f.merchant_id and d.id = f.id and d.lease_id = f.lease_id
    for update) held)`

/**
 * Records delivered events: the delivery goes, the attempt stays, the endpoint's failures in a row are over, and so is
 * its outage if they lasted. What is no longer held under its lease changes nothing. Returns the number of deliveries
 * finished.
 */
export async function finishDelivered(tx: Tx, batch: readonly FinishedAttempt[]): Promise<number> {
  const { rows } = await tx.query<{ finished: number }>(
    `with ${FINISHED},
     gone as (
       delete from delivery d where d.ctid = any (${HELD_CTIDS})
       returning d.merchant_id, d.id, d.livemode, d.event_id, d.endpoint_id, d.attempt),
     recorded as (${INSERT_ATTEMPTS('gone')}),
     recovered as (
       update delivery_lane l
       set failures = 0, next_at = null,
         recovered_at = case when l.failing_since <= now() - interval '${OUTAGE_MS_MIN} milliseconds'
           then now() else l.recovered_at end
       where l.ctid = any (array(
         select b.ctid from (select distinct merchant_id, endpoint_id from gone) g
         join delivery_lane b
           on b.merchant_id = g.merchant_id and b.endpoint_id = g.endpoint_id and b.failures > 0
         order by b.endpoint_id for update of b)))
     select count(*)::int as finished from gone`,
    attemptColumns(batch),
  )
  return rows[0]?.finished ?? 0
}

/** Which of these deliveries are still held under their leases; they are locked. By the key. */
export async function lockHeld(tx: Tx, batch: readonly FinishedAttempt[]): Promise<Set<string>> {
  const { rows } = await tx.query<{ id: string }>(
    `select d.id from unnest($1::text[], $2::text[], $3::uuid[]) as f (merchant_id, id, lease_id)
     join delivery d on d.merchant_id = f.merchant_id and d.id = f.id and d.lease_id = f.lease_id
     for update of d`,
    [
      batch.map((finished) => finished.merchantId),
      batch.map((finished) => finished.deliveryId),
      batch.map((finished) => finished.leaseId),
    ],
  )
  return new Set(rows.map((row) => row.id))
}

/** Records failed attempts that are tried again after `delayMs`. Returns the ids of those still held. */
export async function rescheduleFailed(
  tx: Tx,
  batch: readonly (FinishedAttempt & { readonly delayMs: number })[],
): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    `with ${FINISHED},
     delay as materialized (select * from unnest($1::text[], $2::text[], $8::float8[]) as f (merchant_id, id, ms)),
     moved as (
       update delivery d
       set lease_id = null, due_at = now() + interval '1 millisecond' * (
         select delay.ms from delay where delay.merchant_id = d.merchant_id and delay.id = d.id)
       where d.ctid = any (${HELD_CTIDS})
       returning d.merchant_id, d.id, d.livemode, d.event_id, d.endpoint_id, d.attempt),
     recorded as (${INSERT_ATTEMPTS('moved')})
     select id from moved`,
    [...attemptColumns(batch), batch.map((failed) => failed.delayMs)],
  )
  return rows.map((row) => row.id)
}

export type AwaitingReason = 'disabled' | 'exhausted'

/**
 * Records failed attempts that were the delivery's last: the delivery goes, and its event awaits recovery. Returns
 * the ids of those still held.
 */
export async function giveUpFailed(
  tx: Tx,
  batch: readonly (FinishedAttempt & { readonly reason: AwaitingReason })[],
): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    `with ${FINISHED},
     why as materialized (select * from unnest($1::text[], $2::text[], $8::text[]) as f (merchant_id, id, reason)),
     gone as (
       delete from delivery d where d.ctid = any (${HELD_CTIDS})
       returning d.merchant_id, d.id, d.livemode, d.event_id, d.endpoint_id, d.attempt),
     recorded as (${INSERT_ATTEMPTS('gone')}),
     awaiting as (
       insert into event_awaiting (merchant_id, event_id, livemode, reason, since)
       select distinct on (g.merchant_id, g.event_id) g.merchant_id, g.event_id, g.livemode, why.reason, now()
       from gone g join why on why.merchant_id = g.merchant_id and why.id = g.id
       order by g.merchant_id, g.event_id
       on conflict (merchant_id, event_id) do nothing)
     select id from gone`,
    [...attemptColumns(batch), batch.map((failed) => failed.reason)],
  )
  return rows.map((row) => row.id)
}

/** A delivery under the lease that sent it. */
type HeldDelivery = Pick<FinishedAttempt, 'merchantId' | 'deliveryId' | 'leaseId'>

/** Puts off a delivery whose outcome cannot be recorded, and records its attempt as one of unknown outcome. By the key. */
export async function postponeUnknown(
  db: Queryable,
  held: HeldDelivery & { readonly attemptId: string },
  delayMs: number,
): Promise<void> {
  await db.query(
    `with postponed as (
       update delivery set lease_id = null, due_at = now() + $4 * interval '1 millisecond'
       where merchant_id = $1 and id = $2 and lease_id = $3
       returning merchant_id, livemode, event_id, endpoint_id, attempt)
     insert into attempt
       (merchant_id, id, livemode, event_id, endpoint_id, number, http_status, code, duration_ms, created_at)
     select merchant_id, $5, livemode, event_id, endpoint_id, attempt, null, 'unknown_outcome', 0, now() from postponed`,
    [held.merchantId, held.deliveryId, held.leaseId, delayMs, held.attemptId],
  )
}

/**
 * The same where no attempt of it can be recorded. It keeps its lease, so that the next claim records the attempt as of
 * unknown outcome. By the key.
 */
export async function postponeUnrecorded(db: Queryable, held: HeldDelivery, delayMs: number): Promise<void> {
  await db.query(
    `update delivery set due_at = now() + $4 * interval '1 millisecond'
     where merchant_id = $1 and id = $2 and lease_id = $3`,
    [held.merchantId, held.deliveryId, held.leaseId, delayMs],
  )
}

/** Ends a delivery whose last outcome cannot be recorded: its event awaits recovery. By the key. */
export async function endUnrecorded(db: Queryable, held: HeldDelivery): Promise<void> {
  await db.query(
    `with gone as (
       delete from delivery where merchant_id = $1 and id = $2 and lease_id = $3
       returning merchant_id, event_id, livemode)
     insert into event_awaiting (merchant_id, event_id, livemode, reason, since)
     select merchant_id, event_id, livemode, 'exhausted', now() from gone
     on conflict (merchant_id, event_id) do nothing`,
    [held.merchantId, held.deliveryId, held.leaseId],
  )
}

/** Records the attempt whose worker is gone, as of unknown outcome, at the claim that follows it. */
export async function recordLapsed(
  tx: Tx,
  lapsed: readonly (ClaimedDelivery & { readonly attemptId: string })[],
): Promise<void> {
  await tx.query(
    `insert into attempt
       (merchant_id, id, livemode, event_id, endpoint_id, number, http_status, code, duration_ms, created_at)
     select merchant_id, id, livemode, event_id, endpoint_id, number, null, 'unknown_outcome', 0, now()
     from unnest($1::text[], $2::text[], $3::bool[], $4::text[], $5::text[], $6::int[])
       as l (merchant_id, id, livemode, event_id, endpoint_id, number)`,
    [
      lapsed.map((delivery) => delivery.merchantId),
      lapsed.map((delivery) => delivery.attemptId),
      lapsed.map((delivery) => delivery.livemode),
      lapsed.map((delivery) => delivery.eventId),
      lapsed.map((delivery) => delivery.endpointId),
      lapsed.map((delivery) => delivery.attempt - 1),
    ],
  )
}

const attemptColumns = (batch: readonly FinishedAttempt[]): string[] => [
  column(batch.map((finished) => finished.merchantId)),
  column(batch.map((finished) => finished.deliveryId)),
  column(batch.map((finished) => finished.leaseId)),
  column(batch.map((finished) => finished.attemptId)),
  column(batch.map((finished) => finished.httpStatus)),
  column(batch.map((finished) => finished.code)),
  column(batch.map((finished) => finished.durationMs)),
]

const PLAIN = /^[\w,-]*$/

/** An array as PostgreSQL writes it. Of ids, codes and numbers, which need no escaping; anything else throws. */
function column(values: readonly (string | number | null)[]): string {
  const joined = values.map((value) => value ?? 'NULL').join(',')
  if (!PLAIN.test(joined)) throw new Error('a column of attempts has a value that is not plain')
  return `{${joined}}`
}
