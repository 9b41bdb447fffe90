import { listEventBodies } from '../../../db/delivery/event-recovery.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { eventList, listEventsQuery } from '../../../wire/event.ts'
import { pageOf } from '../../../wire/list.ts'
import { eventViewOf } from '../../views/event-view.ts'
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
    const page = await withTransaction(deps.pool, tenant, (tx) =>
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
