import type { z } from 'zod'
import {
  eventExists,
  findEventBody,
  listAttempts,
  listEventBodies,
} from '../../../db/delivery/event-recovery.ts'
import { queueEvent, RECOVERED_EVENTS_MAX, recoverEvents } from '../../../flows/redeliver-events.ts'
import { withReadTransaction } from '../../../postgres/standby.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import {
  attemptList,
  eventList,
  eventView,
  listAttemptsQuery,
  listEventsQuery,
  queuedDeliveryView,
  queueEventBody,
  recoverEventsBody,
  recoveryView,
} from '../../../wire/event.ts'
import { pageOf } from '../../../wire/list.ts'
import { attemptViewOf } from '../../views/attempt-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const listEventsRoute = defineRoute({
  method: 'get',
  path: '/events',
  operationId: 'listEvents',
  tag: 'Events',
  summary: 'List events',
  description: 'Newest first. `delivery=awaiting` lists those that reached no endpoint and can be recovered.',
  scope: 'events:read',
  query: listEventsQuery,
  success: { status: 200, description: 'A page of events.', schema: eventList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const page = await withReadTransaction(deps, tenant, (tx) =>
      listEventBodies(tx, tenant, {
        ...pageOf(query),
        eventType: query.event_type ?? null,
        resourceId: query.resource_id ?? null,
        awaiting: query.delivery === 'awaiting',
      }),
    )
    return {
      object: 'list' as const,
      url: '/api/v1/events',
      has_more: page.hasMore,
      data: page.bodies.map(eventViewOf),
    }
  },
})

export const getEventRoute = defineRoute({
  method: 'get',
  path: '/events/:id',
  operationId: 'getEvent',
  tag: 'Events',
  summary: 'Get an event',
  scope: 'events:read',
  success: { status: 200, description: 'The event as it is signed and sent.', schema: eventView },
  problems: [],
  exists: eventExists,

  handler: async (deps, { tenant, id }) => {
    const body = await withTransaction(deps.pool, tenant, (tx) => findEventBody(tx, tenant, id))
    if (body === null) throw new ApiProblem('not_found')
    return eventViewOf(body)
  },
})

export const recoverEventsRoute = defineRoute({
  method: 'post',
  path: '/events/recover',
  operationId: 'recoverEvents',
  tag: 'Events',
  summary: 'Recover undelivered events',
  description:
    'Queues, oldest first, the events since a time that reached no endpoint and that this one subscribes to, under their own ids.',
  scope: 'events:write',
  live: 'session',
  body: recoverEventsBody,
  example: { endpoint_id: 'we_01jd0w5f3e8gqv7n5k2m9x4c6t', since: '2026-01-31T09:30:00Z' },
  success: { status: 200, description: 'How many were queued.', schema: recoveryView },
  problems: ['not_found', 'endpoint_not_eligible'],

  create: async (deps, { tenant, body }, tx) => {
    const since = new Date(body.since)
    const now = deps.clock()
    const recovery = await recoverEvents(tx, { tenant, endpointId: body.endpoint_id, since, now })
    if (recovery.kind === 'not_found') throw new ApiProblem('not_found')
    if (recovery.kind === 'not_eligible')
      throw new ApiProblem('endpoint_not_eligible', { param: 'endpoint_id' })
    return {
      view: {
        object: 'event_recovery' as const,
        endpoint_id: body.endpoint_id,
        since: since.toISOString(),
        queued: recovery.queued,
        limit: RECOVERED_EVENTS_MAX,
        has_more: recovery.hasMore,
      },
      afterCommit: () => {
        if (recovery.queued > 0) deps.notifier.deliveriesWaiting()
      },
    }
  },
})

export const queueEventRoute = defineRoute({
  method: 'post',
  path: '/events/:id/queue',
  operationId: 'queueEvent',
  tag: 'Events',
  summary: 'Send an event to an endpoint',
  description:
    'Keeps the event’s id and body, and asks for no subscription. Creates no payment and changes no balance.',
  scope: 'events:write',
  live: 'session',
  body: queueEventBody,
  example: { endpoint_id: 'we_01jd0w5f3e8gqv7n5k2m9x4c6t' },
  success: { status: 200, description: 'A new delivery of the event.', schema: queuedDeliveryView },
  problems: ['endpoint_not_eligible'],
  exists: eventExists,

  create: async (deps, { tenant, id, body }, tx) => {
    const now = deps.clock()
    const queued = await queueEvent(tx, { tenant, eventId: id, endpointId: body.endpoint_id, now })
    if (queued.kind === 'not_found') throw new ApiProblem('not_found')
    if (queued.kind === 'not_eligible')
      throw new ApiProblem('endpoint_not_eligible', { param: 'endpoint_id' })
    if (queued.kind === 'untellable') {
      throw new ApiProblem('endpoint_not_eligible', {
        param: 'endpoint_id',
        message: 'This endpoint’s format has invoice events only.',
      })
    }
    return {
      view: {
        id: queued.deliveryId,
        object: 'delivery' as const,
        event_id: id,
        endpoint_id: body.endpoint_id,
        livemode: tenant.livemode,
        created_at: now.toISOString(),
      },
      afterCommit: () => deps.notifier.deliveriesWaiting(),
    }
  },
})

export const listEventAttemptsRoute = defineRoute({
  method: 'get',
  path: '/events/:id/attempts',
  operationId: 'listEventAttempts',
  tag: 'Events',
  summary: 'List an event’s delivery attempts',
  description:
    'Newest first, to every endpoint. Attempts are kept for 30 days; what a receiver answered is never kept.',
  scope: 'events:read',
  query: listAttemptsQuery,
  success: { status: 200, description: 'A page of attempts.', schema: attemptList },
  problems: [],
  exists: eventExists,

  handler: async (deps, { tenant, id, query }) => {
    const page = await withTransaction(deps.pool, tenant, async (tx) =>
      (await eventExists(tx, tenant, id)) ? listAttempts(tx, tenant, id, pageOf(query)) : null,
    )
    if (page === null) throw new ApiProblem('not_found')
    return {
      object: 'list' as const,
      url: `/api/v1/events/${id}/attempts`,
      has_more: page.hasMore,
      data: page.attempts.map(attemptViewOf),
    }
  },
})

/** An event as the API shows it: its body, as it was stored when it was made. */
function eventViewOf(body: Uint8Array): z.output<typeof eventView> {
  // The body is ours, written by eventBody and never changed; its shape is the schema's.
  return JSON.parse(Buffer.from(body).toString('utf8')) as z.output<typeof eventView>
}
