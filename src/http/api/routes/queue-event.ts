import { eventExists } from '../../../db/delivery/event-recovery.ts'
import { queueEvent } from '../../../flows/queue-event.ts'
import { queuedDeliveryView, queueEventBody } from '../../../wire/event.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

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
        message: 'This endpoint’s format tells of invoices alone.',
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
