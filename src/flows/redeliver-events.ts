import { canDeliver } from '../core/endpoint/subscriptions.ts'
import { insertDeliveries } from '../db/delivery/deliveries.ts'
import { isEligible, loadEndpoint } from '../db/delivery/endpoints.ts'
import {
  awaitsMore,
  deleteAwaiting,
  findEventType,
  holdOffRetention,
  takeAwaitingEvents,
} from '../db/delivery/event-recovery.ts'
import type { Tenant, Tx } from '../postgres/transaction.ts'
import { newId } from '../runtime/new-id.ts'

type QueuedEvent =
  | { readonly kind: 'queued'; readonly deliveryId: string }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'not_eligible' }
  /** The endpoint's format has no words for it. */
  | { readonly kind: 'untellable' }

/**
 * Sends one event to one endpoint, again or at last, under its own id: a new delivery, whatever the endpoint
 * subscribes to and whatever is still under way. In the caller's transaction.
 */
export async function queueEvent(
  tx: Tx,
  input: { tenant: Tenant; eventId: string; endpointId: string; now: Date },
): Promise<QueuedEvent> {
  const { tenant, eventId, endpointId, now } = input
  // The look comes after the lock, so that it sees what retention has taken.
  await holdOffRetention(tx)
  const eventType = await findEventType(tx, tenant, eventId)
  if (eventType === null) return { kind: 'not_found' }
  const endpoint = await loadEndpoint(tx, tenant, endpointId)
  if (endpoint === null) return { kind: 'not_found' }
  if (!isEligible(endpoint)) return { kind: 'not_eligible' }
  if (!canDeliver(endpoint.format, eventType)) return { kind: 'untellable' }
  // Somebody requested it: where the endpoint is throttled, this delivery is its next attempt.
  const replay = { uniqueId: newId('delivery', now), eventId }
  const [deliveryId] = await insertDeliveries(tx, tenant, endpointId, [replay], true)
  if (deliveryId === undefined) throw new Error(`no delivery of ${eventId} to ${endpointId} was inserted`)
  await deleteAwaiting(tx, tenant, eventId)
  return { kind: 'queued', deliveryId }
}

/** Events queued by one recovery (decisions: limits and defaults). */
export const RECOVERED_EVENTS_MAX = 10_000

type Recovery =
  | { readonly kind: 'recovered'; readonly queued: number; readonly hasMore: boolean }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'not_eligible' }

/**
 * Queues the events that await recovery and were made at `since` or later to one endpoint, oldest first, of the
 * types it subscribes to, under their own ids. In the caller's transaction.
 */
export async function recoverEvents(
  tx: Tx,
  input: { tenant: Tenant; endpointId: string; since: Date; now: Date },
): Promise<Recovery> {
  const { tenant, endpointId, since, now } = input
  const endpoint = await loadEndpoint(tx, tenant, endpointId)
  if (endpoint === null) return { kind: 'not_found' }
  if (!isEligible(endpoint)) return { kind: 'not_eligible' }
  const eventTypes = endpoint.subscribedEvents
  const eventIds = await takeAwaitingEvents(tx, tenant, { since, eventTypes, limit: RECOVERED_EVENTS_MAX })
  const deliveries = eventIds.map((eventId) => ({ uniqueId: newId('delivery', now), eventId }))
  if (deliveries.length > 0) await insertDeliveries(tx, tenant, endpointId, deliveries)
  const hasMore = await awaitsMore(tx, tenant, { since, eventTypes })
  return { kind: 'recovered', queued: deliveries.length, hasMore }
}
