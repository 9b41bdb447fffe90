import type { Queryable } from '../pool.ts'

/** More endpoints than this with something waiting are not looked at: a metric must not cost what it measures. */
const LANES_MAX = 10_000

/**
 * For how many seconds the oldest delivery that should have been claimed by now has waited; 0 where none does. Those
 * of open lanes wait for their endpoint and are left out. Endpoints are found by a loose scan of
 * delivery_lane_order.
 */
export async function oldestDueSeconds(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ seconds: number }>(
    `with recursive lane as (
       (select endpoint_id, due_at, 1 as number from delivery order by endpoint_id, due_at limit 1)
       union all
       select next.endpoint_id, next.due_at, lane.number + 1
       from lane cross join lateral (
         select endpoint_id, due_at from delivery d where d.endpoint_id > lane.endpoint_id
         order by endpoint_id, due_at limit 1) next
       where lane.number < ${LANES_MAX})
     select coalesce(extract(epoch from now() - min(due_at)), 0)::float8 as seconds
     from lane
     where due_at < now() and not exists (
       select from delivery_lane b where b.endpoint_id = lane.endpoint_id and b.probe_at is not null)`,
  )
  return rows[0]?.seconds ?? 0
}

/** Endpoints that failed so often in a row that only a probe is sent to them. Served by delivery_lane_probe. */
export async function countOpenLanes(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ count: number }>(
    'select count(*)::int as count from delivery_lane where probe_at is not null',
  )
  return rows[0]?.count ?? 0
}
