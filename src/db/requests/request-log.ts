import type { Queryable } from '../../postgres/pool.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

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

/** A page of a tenant's requests, newest first, failed ones alone if asked. Served by request_log_by_mode. */
export async function listRequests(
  tx: Tx,
  tenant: Tenant,
  page: { limit: number; startingAfter: string | null; endingBefore: string | null; failedOnly: boolean },
): Promise<{ requests: LoggedRequest[]; hasMore: boolean }> {
  const isForward = page.endingBefore === null
  const { rows } = await tx.query<{
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
  }>(
    `select id, request_id, caller, method, route, path, status, error_code, duration_ms, created_at from request_log
     where merchant_id = $1 and livemode = $2 and ($3::text is null or id < $3) and ($4::text is null or id > $4)
       and (not $5 or status >= 400)
     order by id ${isForward ? 'desc' : 'asc'} limit $6`,
    [
      tenant.merchantId,
      tenant.livemode,
      page.startingAfter,
      page.endingBefore,
      page.failedOnly,
      page.limit + 1,
    ],
  )
  const requests = rows.slice(0, page.limit).map((row) => ({
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
  }))
  return { requests: isForward ? requests : requests.reverse(), hasMore: rows.length > page.limit }
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
