import {
  LATE_MS_PER_SLOT,
  THROTTLED_AT,
  THROTTLED_PACE_MS,
  THROTTLED_SLOTS_MAX,
} from '../../core/endpoint/throttle.ts'
import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { ELIGIBLE } from './deliveries.ts'

const FAILURES_MAX = 1_000_000

/**
 * Takes the queues of a batch for this transaction, those that have no row yet included, in one order for all: two
 * batches that close and open each other's queues wait, and never for one another.
 */
export async function lockQueues(
  tx: Tx,
  endpoints: readonly { merchantId: string; endpointId: string }[],
): Promise<void> {
  const endpointIds = [...new Set(endpoints.map((endpoint) => endpoint.endpointId))]
  await tx.query(
    `select pg_advisory_xact_lock(k.key) from (
       select distinct hashtextextended('delivery_lane/' || f.id, 0) as key
       from unnest($1::text[]) as f (id) order by key offset 0) k`,
    [endpointIds],
  )
  await tx.query(
    `select from unnest($1::text[], $2::text[]) as f (merchant_id, endpoint_id)
     join delivery_lane b on b.merchant_id = f.merchant_id and b.endpoint_id = f.endpoint_id
     order by b.endpoint_id for update of b`,
    [endpoints.map((endpoint) => endpoint.merchantId), endpoints.map((endpoint) => endpoint.endpointId)],
  )
}

/** Forgets the failures of endpoints that are gone. By the key. */
export async function deleteQueues(
  tx: Tx,
  endpoints: readonly { merchantId: string; endpointId: string }[],
): Promise<void> {
  await tx.query(
    `delete from delivery_lane b using unnest($1::text[], $2::text[]) as f (merchant_id, endpoint_id)
     where b.merchant_id = f.merchant_id and b.endpoint_id = f.endpoint_id`,
    [endpoints.map((endpoint) => endpoint.merchantId), endpoints.map((endpoint) => endpoint.endpointId)],
  )
}

/** Adds failures to their endpoints' rows of failures; from ten in a row an endpoint is throttled. By the key. */
export async function saveFailures(
  tx: Tx,
  failed: readonly { merchantId: string; endpointId: string; livemode: boolean; failures: number }[],
): Promise<void> {
  await tx.query(
    `insert into delivery_lane as l (merchant_id, endpoint_id, livemode, failures, failing_since, next_at)
     select f.merchant_id, f.endpoint_id, f.livemode, f.failures, now(),
       case when f.failures >= ${THROTTLED_AT} then now() end
     from unnest($1::text[], $2::text[], $3::bool[], $4::int[]) as f (merchant_id, endpoint_id, livemode, failures)
     order by f.endpoint_id
     on conflict (merchant_id, endpoint_id) do update
     set failures = least(${FAILURES_MAX}, l.failures + excluded.failures),
       failing_since = case when l.failures = 0 then now() else l.failing_since end,
       next_at = case when l.failures + excluded.failures >= ${THROTTLED_AT} then coalesce(l.next_at, now()) end`,
    [
      failed.map((queue) => queue.merchantId),
      failed.map((queue) => queue.endpointId),
      failed.map((queue) => queue.livemode),
      failed.map((queue) => queue.failures),
    ],
  )
}

/**
 * Throttled endpoints that have something due and may be sent more than the caller holds of them, those that waited
 * longest first; their next turn is a moment later, whoever takes it. Served by delivery_lane_throttled and
 * delivery_lane_order.
 */
export async function lockThrottledQueues(
  tx: Tx,
  input: { held: ReadonlyMap<string, number>; queuesMax: number },
): Promise<{ endpointId: string; lateMs: number }[]> {
  const { rows } = await tx.query<{ endpoint_id: string; late_ms: number }>(
    `with turn as materialized (
       select b.merchant_id, b.endpoint_id, date_part('epoch', now() - oldest.due_at) * 1000 as late_ms
       from delivery_lane b
       join webhook_endpoint w on w.merchant_id = b.merchant_id and w.id = b.endpoint_id and ${ELIGIBLE}
       left join unnest($1::text[], $2::int[]) as held (endpoint_id, rows) on held.endpoint_id = b.endpoint_id
       cross join lateral (
         select d.due_at from delivery d
         where d.endpoint_id = b.endpoint_id and d.due_at <= now() order by d.due_at limit 1) oldest
       where b.next_at <= now() and coalesce(held.rows, 0) < ${THROTTLED_SLOTS_MAX}
         and oldest.due_at <= now() - coalesce(held.rows, 0) * interval '${LATE_MS_PER_SLOT} milliseconds'
       order by b.next_at limit $3 for update of b skip locked),
     moved as (
       update delivery_lane b set next_at = now() + interval '${THROTTLED_PACE_MS} milliseconds'
       from turn where b.merchant_id = turn.merchant_id and b.endpoint_id = turn.endpoint_id)
     select endpoint_id, late_ms from turn`,
    [[...input.held.keys()], [...input.held.values()], input.queuesMax],
  )
  return rows.map((row) => ({ endpointId: row.endpoint_id, lateMs: row.late_ms }))
}

/** Forgets an endpoint's failures: it is sent nothing any more. By the key. */
export async function deleteQueue(tx: Tx, tenant: Tenant, endpointId: string): Promise<void> {
  await tx.query('delete from delivery_lane where merchant_id = $1 and endpoint_id = $2', [
    tenant.merchantId,
    endpointId,
  ])
}

/** The endpoint answered well: its failures count no more, and all that waits for it is due. By the key. */
export async function markRecovered(tx: Tx, tenant: Tenant, endpointId: string): Promise<void> {
  await tx.query(
    `update delivery_lane set failures = 0, next_at = null, recovered_at = now()
     where merchant_id = $1 and endpoint_id = $2`,
    [tenant.merchantId, endpointId],
  )
}

/** More endpoints than this with something waiting are not looked at: a metric must not cost what it measures. */
const ENDPOINT_QUEUES_MAX = 10_000

type OldestDue = {
  /** Of endpoints that are not throttled. */
  readonly seconds: number
  readonly throttledSeconds: number
}

/**
 * For how many seconds the oldest delivery that is due has waited; 0 where none does. Endpoints are found by a loose
 * scan of delivery_lane_order.
 */
export async function readOldestDue(db: Queryable): Promise<OldestDue> {
  const { rows } = await db.query<OldestDue>(
    `with recursive queue as (
       (select endpoint_id, due_at, 1 as number from delivery order by endpoint_id, due_at limit 1)
       union all
       select next.endpoint_id, next.due_at, queue.number + 1
       from queue cross join lateral (
         select endpoint_id, due_at from delivery d where d.endpoint_id > queue.endpoint_id
         order by endpoint_id, due_at limit 1) next
       where queue.number < ${ENDPOINT_QUEUES_MAX})
     select coalesce(extract(epoch from now() - min(due_at) filter (where not throttled)), 0)::float8 as seconds,
       coalesce(extract(epoch from now() - min(due_at) filter (where throttled)), 0)::float8 as "throttledSeconds"
     from (
       select due_at, exists (
         select from delivery_lane b where b.endpoint_id = queue.endpoint_id and b.next_at is not null) as throttled
       from queue where due_at < now()) due`,
  )
  return rows[0] ?? { seconds: 0, throttledSeconds: 0 }
}

/** Whether anything waits to be sent or is being sent. */
export async function isAnyDelivery(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>('select exists (select from delivery) as found')
  return rows[0]?.found === true
}

/** Endpoints that failed so often in a row that they are throttled. Served by delivery_lane_throttled. */
export async function countThrottled(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int as count from delivery_lane where next_at is not null',
  )
  return rows[0]?.count ?? 0
}
