import type { Queryable } from '../../postgres/pool.ts'
import { planByIndexes, type QueueTx, type Tx } from '../../postgres/transaction.ts'
import { RETENTION_LOCK } from './event-recovery.ts'

/** Deliveries one sweep takes. */
export const SWEEP_ROWS_MAX = 1_000
/** Queues one sweep looks at. */
const SWEPT_QUEUES_MAX = 5_000
/** Events or keys one round of retention deletes. */
export const RETENTION_ROWS_MAX = 2_000

const ALL_LANES = `
  recursive queue as (
    (select merchant_id, endpoint_id, 1 as number from delivery order by endpoint_id limit 1)
    union all
    select n.merchant_id, n.endpoint_id, queue.number + 1
    from queue cross join lateral (
      select d.merchant_id, d.endpoint_id from delivery d where d.endpoint_id > queue.endpoint_id
      order by d.endpoint_id limit 1) n
    where queue.number < ${SWEPT_QUEUES_MAX})`

const AWAIT_GONE = `
  awaiting as (
    insert into event_awaiting (merchant_id, event_id, livemode, reason, since)
    select distinct on (g.merchant_id, g.event_id) g.merchant_id, g.event_id, g.livemode, g.reason, now()
    from gone g
    -- The API's login can write a delivery of no event: it goes, and keeps no other from awaiting recovery.
    where exists (select from event e where e.merchant_id = g.merchant_id and e.id = g.event_id)
    order by g.merchant_id, g.event_id
    on conflict (merchant_id, event_id) do nothing)`

/**
 * Moves deliveries of endpoints that are no longer eligible to the events that await recovery. What is being sent
 * at this moment is left alone until it is recorded or its lease lapses. Queues by a loose scan of
 * delivery_lane_order, the reason by the endpoint's key: no CTE is joined with another, since a plan that was made while
 * the queue was empty would compare each row of one with each of the other.
 */
export async function sweepIneligible(tx: QueueTx): Promise<number> {
  const { rows } = await tx.query<{ swept: number }>(
    `with ${ALL_LANES},
     dead as (
       select queue.endpoint_id from queue
       join webhook_endpoint w on w.merchant_id = queue.merchant_id and w.id = queue.endpoint_id
       where w.status <> 'enabled' or w.verified_at is null or w.removed_at is not null),
     picked as materialized (
       select row.ctid from dead cross join lateral (
         select d.ctid from delivery d
         where d.endpoint_id = dead.endpoint_id and (d.lease_id is null or d.due_at <= now())
         order by d.due_at limit ${SWEEP_ROWS_MAX} for update skip locked) row
       limit ${SWEEP_ROWS_MAX}),
     deleted as (
       delete from delivery d where d.ctid = any (array(select ctid from picked))
       returning d.merchant_id, d.livemode, d.event_id, d.endpoint_id),
     gone as (
       select deleted.*, coalesce((
         select case when w.removed_at is null then 'disabled' else 'removed' end from webhook_endpoint w
         where w.merchant_id = deleted.merchant_id and w.id = deleted.endpoint_id), 'removed') as reason
       from deleted),
     ${AWAIT_GONE}
     select count(*)::int as swept from gone`,
  )
  return rows[0]?.swept ?? 0
}

/**
 * The same for one endpoint, in the transaction that disables or removes it, so that its events stand in the
 * recovery list when the answer is given. What is beyond one sweep, or held by another transaction at this moment,
 * follows by `sweepIneligible`: waiting for it could be waiting for one that waits for this endpoint. Served by
 * delivery_lane_order.
 */
export async function sweepEndpoint(
  tx: Tx,
  merchantId: string,
  endpointId: string,
  reason: 'disabled' | 'removed',
): Promise<number> {
  const { rows } = await (await planByIndexes(tx)).query<{ swept: number }>(
    `with gone as (
       delete from delivery d where d.ctid = any (array(
         select p.ctid from delivery p
         where p.endpoint_id = $2 and p.merchant_id = $1 and (p.lease_id is null or p.due_at <= now())
         order by p.due_at limit ${SWEEP_ROWS_MAX} for update skip locked))
       returning d.merchant_id, d.livemode, d.event_id, $3::text as reason),
     ${AWAIT_GONE}
     select count(*)::int as swept from gone`,
    [merchantId, endpointId, reason],
  )
  return rows[0]?.swept ?? 0
}

/**
 * Makes due what waits for endpoints that came back, each delivery once: those that were due before they did, in
 * rounds. An endpoint is done with when none of them waits and none is under way. Served by delivery_lane_order.
 */
export async function pullForward(tx: QueueTx): Promise<number> {
  const { rows } = await tx.query<{ pulled: number }>(
    `with queue as materialized (
       select merchant_id, endpoint_id, recovered_at from delivery_lane
       where recovered_at is not null order by recovered_at limit ${SWEPT_QUEUES_MAX} for update skip locked),
     picked as materialized (
       select row.ctid from queue cross join lateral (
         select d.ctid from delivery d
         where d.endpoint_id = queue.endpoint_id and d.due_at > now()
           and d.lease_id is null and d.was_due_at < queue.recovered_at
         order by d.due_at limit ${SWEEP_ROWS_MAX} for update skip locked) row
       limit ${SWEEP_ROWS_MAX}),
     pulled as (
       update delivery d set due_at = now() where d.ctid = any (array(select ctid from picked))),
     done as (
       update delivery_lane b set recovered_at = null from queue
       where b.merchant_id = queue.merchant_id and b.endpoint_id = queue.endpoint_id
         and not exists (
           select from delivery d
           where d.endpoint_id = queue.endpoint_id and d.due_at > now() and d.was_due_at < queue.recovered_at))
     select count(*)::int as pulled from picked`,
  )
  return rows[0]?.pulled ?? 0
}

/** Forgets endpoints that do not fail any more, or that nothing waits for. A scan of a small table. */
export async function deleteIdleQueues(tx: QueueTx): Promise<void> {
  await tx.query(
    `delete from delivery_lane l where l.ctid = any (array(
       select b.ctid from delivery_lane b
       where b.recovered_at is null and (b.failures = 0
         or not exists (select from delivery d where d.endpoint_id = b.endpoint_id))
       order by b.endpoint_id for update skip locked))`,
  )
}

/** Sees to it that attempts have partitions for the days ahead and none beyond their retention. */
export async function keepAttemptPartitions(
  db: Queryable,
  daysAhead: number,
  daysKept: number,
): Promise<void> {
  await db.query('select attempt_keep_partitions($1, $2)', [daysAhead, daysKept])
}

/**
 * Forgets delivered events older than `days`: those that nobody awaits and no delivery needs. Found by
 * event_by_age. Whoever queues an old event at this moment comes first or finds it gone: the lock is taken before
 * the look, which then sees every delivery that was committed under it.
 */
export async function deleteDeliveredEvents(tx: Tx, days: number): Promise<number> {
  await tx.query(`select pg_advisory_xact_lock(${RETENTION_LOCK})`)
  const { rowCount } = await tx.query(
    `delete from event e where e.ctid = any (array(
       select o.ctid from event o
       where o.created_at < now() - $1 * interval '1 day'
         and not exists (
           select from event_awaiting a where a.merchant_id = o.merchant_id and a.event_id = o.id)
         and not exists (
           select from delivery d where d.merchant_id = o.merchant_id and d.event_id = o.id)
       limit ${RETENTION_ROWS_MAX}))`,
    [days],
  )
  return rowCount ?? 0
}

/** Forgets kept answers older than `hours`. Served by idempotency_key_by_age. */
export async function deleteOldIdempotencyKeys(db: Queryable, hours: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from idempotency_key k where k.ctid = any (array(
       select o.ctid from idempotency_key o where o.created_at < now() - $1 * interval '1 hour'
       order by o.created_at limit ${RETENTION_ROWS_MAX}))`,
    [hours],
  )
  return rowCount ?? 0
}

/** Forgets signing secrets whose overlap is over. A scan of a small table. */
export async function deleteEndedSecrets(db: Queryable): Promise<number> {
  const { rowCount } = await db.query('delete from endpoint_secret where valid_until < clock_timestamp()')
  return rowCount ?? 0
}

/** Expired rows of sign-ins, by the column that says when they end; the longest window of a limit is an hour. */
const ENDED_SIGN_INS = [
  ['secret_guess', 'subject', `since < now() - interval '1 day'`],
  ['sign_in_rate', 'id', `last_request < 1000 * extract(epoch from now() - interval '1 day')`],
  ['person_session', 'id', 'expires_at < now()'],
  ['person_verification', 'id', 'expires_at < now()'],
] as const

/** Forgets guesses, counts, sessions and tokens that have ended, some of each; returns the most of one table. Scans. */
export async function deleteEndedSignIns(db: Queryable): Promise<number> {
  let most = 0
  for (const [table, key, hasEnded] of ENDED_SIGN_INS) {
    const { rowCount } = await db.query(
      `delete from ${table} where ${key} = any (array(
         select ${key} from ${table} where ${hasEnded} limit ${RETENTION_ROWS_MAX}))`,
    )
    most = Math.max(most, rowCount ?? 0)
  }
  return most
}

/** The database's clock, which decides what is due. */
export async function readDatabaseClock(db: Queryable): Promise<Date> {
  const { rows } = await db.query<{ now: Date }>('select clock_timestamp() as now')
  const now = rows[0]?.now
  if (now === undefined) throw new Error('the database returned no time')
  return now
}
