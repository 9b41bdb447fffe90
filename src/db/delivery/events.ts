import { GIVE_UP_AFTER_MS } from '../../core/endpoint/backoff.ts'
import { Rows } from '../../postgres/rows.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { deliveryId } from './deliveries.ts'

type NewEvent = {
  readonly id: string
  readonly type: string
  readonly resourceId: string
  readonly sequence: number
  readonly body: string
  readonly requestId: string | null
  readonly createdAt: Date
}

/**
 * Writes events and a delivery of each to each endpoint that is enabled, verified and subscribed now; with none, an
 * event awaits delivery: as `not_subscribed` where the mode has endpoints and none of them subscribes, else as
 * `no_endpoint`. An endpoint that was removed less than `GIVE_UP_AFTER_MS` ago counts, since it may be about to be
 * replaced. A delivery's id is the event's with the endpoint's: an event goes to an endpoint once, unless somebody asks
 * for it again. Served by webhook_endpoint_eligible and the endpoints' key.
 */
export async function insertEvents(
  tx: Tx,
  tenant: Tenant,
  events: readonly NewEvent[],
): Promise<{ deliveries: number }> {
  if (events.length === 0) return { deliveries: 0 }
  const { rows } = await tx.query<{ deliveries: number }>(
    `with made as materialized (
       select * from json_to_recordset($3) as row (id text, event_type text, resource_id text, sequence integer,
         body text, request_id text, created_at timestamptz)),
     new_event as (
       insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, request_id, created_at)
       select $1, id, $2, event_type, resource_id, sequence, convert_to(body, 'UTF8'), request_id, created_at
       from made),
     queued as (
       insert into delivery (merchant_id, id, livemode, endpoint_id, event_id, due_at, give_up_at)
       select $1, ${deliveryId('made.id', 'endpoint.id')}, $2, endpoint.id, made.id, now(),
         now() + $4 * interval '1 millisecond'
       from made, webhook_endpoint endpoint
       where merchant_id = $1 and livemode = $2
         and status = 'enabled' and verified_at is not null and removed_at is null
         and subscribed_events && array[event_type, '*']
       returning event_id),
     awaiting as (
       insert into event_awaiting (merchant_id, event_id, livemode, reason, since)
       select $1, id, $2, (
         select case when bool_or(subscribed_events && array[event_type, '*']) then 'no_endpoint'
           when bool_or(removed_at is null) then 'not_subscribed' else 'no_endpoint' end
         from webhook_endpoint
         where merchant_id = $1 and livemode = $2
           and (removed_at is null or removed_at > made.created_at - $4 * interval '1 millisecond')), created_at
       from made where not exists (select from queued where event_id = made.id))
     select count(*)::int as deliveries from queued`,
    [
      tenant.merchantId,
      tenant.livemode,
      new Rows(
        events.map((event) => ({
          id: event.id,
          event_type: event.type,
          resource_id: event.resourceId,
          sequence: event.sequence,
          body: event.body,
          request_id: event.requestId,
          created_at: event.createdAt,
        })),
      ),
      GIVE_UP_AFTER_MS,
    ],
  )
  return { deliveries: rows[0]?.deliveries ?? 0 }
}

export const insertEvent = (tx: Tx, tenant: Tenant, event: NewEvent): Promise<{ deliveries: number }> =>
  insertEvents(tx, tenant, [event])

export type FeedEvent = {
  readonly id: string
  readonly eventType: string
  readonly resourceId: string
  readonly sequence: number
  readonly schemaVersion: number
  /** The bytes that are signed and sent. */
  readonly body: Buffer
  readonly createdAtMs: number
}

/** Ids after the given one, which sort by the time they were created. Served by event_by_mode alone. */
export async function listEventIdsAfter(
  tx: Tx,
  tenant: Tenant,
  afterId: string,
  limit: number,
): Promise<string[]> {
  const { rows } = await tx.query<{ id: string }>(
    'select id from event where merchant_id = $1 and livemode = $2 and id > $3 order by id limit $4',
    [tenant.merchantId, tenant.livemode, afterId, limit],
  )
  return rows.map((row) => row.id)
}

/** Whole events by their ids, in no order. By the key. */
export async function loadEvents(tx: Tx, tenant: Tenant, ids: readonly string[]): Promise<FeedEvent[]> {
  const { rows } = await tx.query<{
    id: string
    event_type: string
    resource_id: string
    sequence: number
    schema_version: number
    body: Buffer
    created_at: Date
  }>(
    `select id, event_type, resource_id, sequence, schema_version, body, created_at
     from event where merchant_id = $1 and livemode = $2 and id = any($3)`,
    [tenant.merchantId, tenant.livemode, ids],
  )
  return rows.map((row) => ({
    id: row.id,
    eventType: row.event_type,
    resourceId: row.resource_id,
    sequence: row.sequence,
    schemaVersion: row.schema_version,
    body: row.body,
    createdAtMs: row.created_at.getTime(),
  }))
}
