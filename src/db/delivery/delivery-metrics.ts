import type { Queryable } from '../../postgres/pool.ts'

/** More endpoints than this with something waiting are not looked at: a metric must not cost what it measures. */
const LANES_MAX = 10_000

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
       where queue.number < ${LANES_MAX})
     select coalesce(extract(epoch from now() - min(due_at) filter (where not throttled)), 0)::float8 as seconds,
       coalesce(extract(epoch from now() - min(due_at) filter (where throttled)), 0)::float8 as "throttledSeconds"
     from (
       select due_at, exists (
         select from delivery_lane b where b.endpoint_id = queue.endpoint_id and b.next_at is not null) as throttled
       from queue where due_at < now()) due`,
  )
  return rows[0] ?? { seconds: 0, throttledSeconds: 0 }
}

/** Endpoints that failed so often in a row that they are throttled. Served by delivery_lane_throttled. */
export async function countThrottled(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int as count from delivery_lane where next_at is not null',
  )
  return rows[0]?.count ?? 0
}
