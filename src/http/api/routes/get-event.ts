import { eventExists, findEventBody } from '../../../db/delivery/event-recovery.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { eventView } from '../../../wire/event.ts'
import { eventViewOf } from '../../views/event-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

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
