import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { firstIdAt } from '../list-page.ts'

export type LoggedRequest = {
  readonly merchantId: string
  readonly livemode: boolean
  readonly id: string
  readonly requestId: string
  readonly caller: string
  readonly method: string
  readonly route: string
  readonly path: string
  readonly status: number
  readonly errorCode: string | null
  readonly durationMs: number
  readonly createdAt: Date
}

/** Writes a batch of requests, of any merchants, in one statement. */
export async function insertRequests(db: Queryable, requests: readonly LoggedRequest[]): Promise<void> {
  const column = <Value>(read: (request: LoggedRequest) => Value) => requests.map(read)
  await db.query(
    `insert into request_log
       (merchant_id, id, livemode, request_id, caller, method, route, path, status, error_code, duration_ms, created_at)
     select * from unnest($1::text[], $2::text[], $3::boolean[], $4::text[], $5::text[], $6::text[], $7::text[],
       $8::text[], $9::integer[], $10::text[], $11::integer[], $12::timestamptz[])`,
    [
      column((one) => one.merchantId),
      column((one) => one.id),
      column((one) => one.livemode),
      column((one) => one.requestId),
      column((one) => one.caller),
      column((one) => one.method),
      column((one) => one.route),
      column((one) => one.path),
      column((one) => one.status),
      column((one) => one.errorCode),
      column((one) => one.durationMs),
      column((one) => one.createdAt),
    ],
  )
}

type RequestRow = {
  id: string
  request_id: string
  caller: string
  method: string
  route: string
  path: string
  status: number
  error_code: string | null
  duration_ms: number
  created_at: Date
}

const COLUMNS = 'id, request_id, caller, method, route, path, status, error_code, duration_ms, created_at'

const requestOf = (tenant: Tenant, row: RequestRow): LoggedRequest => ({
  ...tenant,
  id: row.id,
  requestId: row.request_id,
  caller: row.caller,
  method: row.method,
  route: row.route,
  path: row.path,
  status: row.status,
  errorCode: row.error_code,
  durationMs: row.duration_ms,
  createdAt: row.created_at,
})

/** So many of the newest requests of a range are looked through for a filter. */
const WALKED_MAX = 50_000

type RequestFilters = {
  readonly limit: number
  readonly startingAfter: string | null
  readonly endingBefore: string | null
  readonly failedOnly: boolean
  /** The beginning of a path. */
  readonly path: string | null
  readonly caller: string | null
  /** Both exclusive. */
  readonly createdAfterMs: number | undefined
  readonly createdBeforeMs: number | undefined
}

/** A page of a tenant's requests, newest first. Served by request_log_by_mode. */
export async function listRequests(
  tx: Tx,
  tenant: Tenant,
  page: RequestFilters,
): Promise<{ requests: LoggedRequest[]; hasMore: boolean }> {
  const isForward = page.endingBefore === null
  const order = isForward ? 'desc' : 'asc'
  const { rows } = await tx.query<RequestRow>(
    `select * from (
       select ${COLUMNS} from request_log
       where merchant_id = $1 and livemode = $2 and ($3::text is null or id < $3) and ($4::text is null or id > $4)
         and ($5::text is null or id >= $5) and ($6::text is null or id < $6)
       order by id ${order} limit ${WALKED_MAX}) walked
     where (not $7 or status >= 400) and ($8::text is null or starts_with(path, $8))
       and ($9::text is null or caller = $9)
     order by id ${order} limit $10`,
    [
      tenant.merchantId,
      tenant.livemode,
      page.startingAfter,
      page.endingBefore,
      firstIdAt('requestLog', page.createdAfterMs, 1),
      firstIdAt('requestLog', page.createdBeforeMs, 0),
      page.failedOnly,
      page.path,
      page.caller,
      page.limit + 1,
    ],
  )
  const requests = rows.slice(0, page.limit).map((row) => requestOf(tenant, row))
  return { requests: isForward ? requests : requests.reverse(), hasMore: rows.length > page.limit }
}

/** One request, or null. By the primary key. */
export async function findRequest(tx: Tx, tenant: Tenant, id: string): Promise<LoggedRequest | null> {
  const { rows } = await tx.query<RequestRow>(
    `select ${COLUMNS} from request_log where merchant_id = $1 and livemode = $2 and id = $3`,
    [tenant.merchantId, tenant.livemode, id],
  )
  return rows[0] === undefined ? null : requestOf(tenant, rows[0])
}

/** Forgets requests older than `days`, so many at a time; says how many. Served by request_log_by_age. */
export async function deleteOldRequests(db: Queryable, days: number, limit: number): Promise<number> {
  const { rowCount } = await db.query(
    `delete from request_log where (merchant_id, id) in (
       select merchant_id, id from request_log where created_at < now() - make_interval(days => $1) limit $2)`,
    [days, limit],
  )
  return rowCount ?? 0
}
