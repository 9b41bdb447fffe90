import { ALL_EVENTS } from '../../core/endpoint/subscriptions.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** Where a page stands: ids sort by time. */
type PagePosition = {
  readonly limit: number
  readonly startingAfter: string | null
  readonly endingBefore: string | null
}

/** Of an event that reached nobody `a`: an endpoint should have got it. */
const LISTED = `a.reason <> 'not_subscribed'`

/** The body of one event, as it was signed and sent, or null. By the key. */
export async function findEventBody(tx: Tx, tenant: Tenant, id: string): Promise<Buffer | null> {
  const { rows } = await tx.query<{ body: Buffer }>(
    'select body from event where merchant_id = $1 and id = $2 and livemode = $3',
    [tenant.merchantId, id, tenant.livemode],
  )
  return rows[0]?.body ?? null
}

/** What retention and whoever queues an event hold against each other. */
export const RETENTION_LOCK = `hashtextextended('event_retention', 0)`

/** Until the transaction ends, no event is forgotten: one that is found now can be given a delivery. */
export async function holdOffRetention(tx: Tx): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock_shared(${RETENTION_LOCK})`)
}

/** The type of one event of the tenant's, or null. By the key. */
export async function findEventType(tx: Tx, tenant: Tenant, id: string): Promise<string | null> {
  const { rows } = await tx.query<{ event_type: string }>(
    'select event_type from event where merchant_id = $1 and id = $2 and livemode = $3',
    [tenant.merchantId, id, tenant.livemode],
  )
  return rows[0]?.event_type ?? null
}

/** Whether the tenant has this event. */
export async function eventExists(tx: Tx, tenant: Tenant, id: string): Promise<boolean> {
  return (await findEventType(tx, tenant, id)) !== null
}

/**
 * A page of event bodies, newest first. Served by event_by_mode, event_by_type, event_by_resource or, for those
 * that await recovery, event_awaiting_listed.
 */
export async function listEventBodies(
  tx: Tx,
  tenant: Tenant,
  filters: PagePosition & { eventType: string | null; resourceId: string | null; awaiting: boolean },
): Promise<{ bodies: Buffer[]; hasMore: boolean }> {
  const backwards = filters.endingBefore !== null
  const awaiting = `join event_awaiting a on a.merchant_id = e.merchant_id and a.event_id = e.id and a.livemode = $2 and ${LISTED}`
  const { rows } = await tx.query<{ body: Buffer }>(
    `select e.body from event e ${filters.awaiting ? awaiting : ''}
     where e.merchant_id = $1 and e.livemode = $2
       and ($3::text is null or e.event_type = $3) and ($4::text is null or e.resource_id = $4)
       and ($5::text is null or e.id < $5) and ($6::text is null or e.id > $6)
     order by e.id ${backwards ? 'asc' : 'desc'} limit $7`,
    [
      tenant.merchantId,
      tenant.livemode,
      filters.eventType,
      filters.resourceId,
      filters.startingAfter,
      filters.endingBefore,
      filters.limit + 1,
    ],
  )
  const bodies = rows.slice(0, filters.limit).map((row) => row.body)
  return { bodies: backwards ? bodies.reverse() : bodies, hasMore: rows.length > filters.limit }
}

export type AttemptRow = {
  readonly id: string
  readonly event_id: string
  readonly endpoint_id: string
  readonly event_type: string | null
  readonly number: number
  readonly http_status: number | null
  readonly code: string
  readonly duration_ms: number
  readonly created_at: Date
}

/** A page of an event's attempts, newest first. Served by attempt_by_event. */
export async function listAttempts(
  tx: Tx,
  tenant: Tenant,
  eventId: string,
  page: PagePosition,
): Promise<{ attempts: AttemptRow[]; hasMore: boolean }> {
  return readAttempts(tx, page, 'a.event_id = $3', [tenant.merchantId, tenant.livemode, eventId])
}

/** So many of a merchant's newest attempts are looked through for those of one endpoint. */
const ATTEMPTS_WALKED_MAX = 10_000

/**
 * A page of an endpoint's attempts among the merchant's newest, newest first. By the primary key, read backwards: an index
 * of their own would cost every delivery more than this costs whoever looks.
 */
export async function listEndpointAttempts(
  tx: Tx,
  tenant: Tenant,
  endpointId: string,
  page: PagePosition & { failedOnly: boolean },
): Promise<{ attempts: AttemptRow[]; hasMore: boolean }> {
  const { rows } = await tx.query<{ id: string }>(
    `select id from attempt where merchant_id = $1 and livemode = $2
     order by id desc offset ${ATTEMPTS_WALKED_MAX} limit 1`,
    [tenant.merchantId, tenant.livemode],
  )
  return readAttempts(
    tx,
    page,
    `a.endpoint_id = $3 and ($4::text is null or a.id > $4) and (not $5 or a.code not in ('ok', 'superseded'))`,
    [tenant.merchantId, tenant.livemode, endpointId, rows[0]?.id ?? null, page.failedOnly],
  )
}

/** `values`: merchant and mode first. */
async function readAttempts(
  tx: Tx,
  page: PagePosition,
  condition: string,
  values: readonly unknown[],
): Promise<{ attempts: AttemptRow[]; hasMore: boolean }> {
  const backwards = page.endingBefore !== null
  const at = (offset: number) => `$${values.length + offset}`
  const { rows } = await tx.query<AttemptRow>(
    `select a.id, a.event_id, a.endpoint_id, e.event_type, a.number, a.http_status, a.code, a.duration_ms, a.created_at
     from attempt a left join event e on e.merchant_id = a.merchant_id and e.id = a.event_id
     where a.merchant_id = $1 and a.livemode = $2 and ${condition}
       and (${at(1)}::text is null or a.id < ${at(1)}) and (${at(2)}::text is null or a.id > ${at(2)})
     order by a.id ${backwards ? 'asc' : 'desc'} limit ${at(3)}`,
    [...values, page.startingAfter, page.endingBefore, page.limit + 1],
  )
  const attempts = rows.slice(0, page.limit)
  return { attempts: backwards ? attempts.reverse() : attempts, hasMore: rows.length > page.limit }
}

/** The event awaits nobody any more. By the key. */
export async function deleteAwaiting(tx: Tx, tenant: Tenant, eventId: string): Promise<void> {
  await tx.query('delete from event_awaiting where merchant_id = $1 and event_id = $2 and livemode = $3', [
    tenant.merchantId,
    eventId,
    tenant.livemode,
  ])
}

const AWAITING_SINCE = `
  select a.merchant_id, a.event_id from event_awaiting a
  join event e on e.merchant_id = a.merchant_id and e.id = a.event_id
  where a.merchant_id = $1 and a.livemode = $2 and ${LISTED} and e.created_at >= $3
    and e.event_type = any (case when $4::text[] && array['${ALL_EVENTS}'] then array[e.event_type] else $4::text[] end)`

/**
 * Takes events off the recovery list, oldest first: those made at `since` or later, of the given types. Whoever
 * else asks at the same time gets others. Returns their ids. Served by event_awaiting_listed.
 */
export async function takeAwaitingEvents(
  tx: Tx,
  tenant: Tenant,
  input: { since: Date; eventTypes: readonly string[]; limit: number },
): Promise<string[]> {
  const { rows } = await tx.query<{ event_id: string }>(
    `delete from event_awaiting a
     using (${AWAITING_SINCE} order by a.event_id limit $5) chosen
     where a.merchant_id = chosen.merchant_id and a.event_id = chosen.event_id
     returning a.event_id`,
    [tenant.merchantId, tenant.livemode, input.since, input.eventTypes, input.limit],
  )
  return rows.map((row) => row.event_id)
}

/** Whether the recovery list holds more of the same. */
export async function awaitsMore(
  tx: Tx,
  tenant: Tenant,
  input: { since: Date; eventTypes: readonly string[] },
): Promise<boolean> {
  const { rowCount } = await tx.query(`${AWAITING_SINCE} limit 1`, [
    tenant.merchantId,
    tenant.livemode,
    input.since,
    input.eventTypes,
  ])
  return rowCount === 1
}
