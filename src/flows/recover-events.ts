import { insertDeliveries } from '../db/delivery/deliveries.ts'
import { isEligible, loadEndpoint } from '../db/delivery/endpoints.ts'
import { awaitsMore, takeAwaitingEvents } from '../db/delivery/event-recovery.ts'
import type { Tenant, Tx } from '../postgres/transaction.ts'
import { newId } from '../runtime/new-id.ts'

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
  const deliveries = eventIds.map((eventId) => ({ id: newId('delivery', now), eventId }))
  if (deliveries.length > 0) await insertDeliveries(tx, tenant, endpointId, deliveries)
  const hasMore = await awaitsMore(tx, tenant, { since, eventTypes })
  return { kind: 'recovered', queued: deliveries.length, hasMore }
}
