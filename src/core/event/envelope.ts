/** The version of the event schema; header `paylink-version` carries the same number (spec §9). */
export const EVENT_SCHEMA_VERSION = 1

/**
 * The body of an event as it is stored, signed and sent: the envelope of spec §2.6, and `sequence` (1, 2, 3…
 * for each resource) and `request_id`. Written once; the bytes never change afterwards.
 */
export function eventBody(event: {
  id: string
  type: string
  merchantId: string
  resourceId: string
  livemode: boolean
  createdAtMs: number
  sequence: number
  requestId: string | null
  data: unknown
}): string {
  return JSON.stringify({
    id: event.id,
    schema_version: EVENT_SCHEMA_VERSION,
    event_type: event.type,
    merchant_id: event.merchantId,
    resource_id: event.resourceId,
    livemode: event.livemode,
    created_at: new Date(event.createdAtMs).toISOString(),
    sequence: event.sequence,
    request_id: event.requestId,
    data: event.data,
  })
}
