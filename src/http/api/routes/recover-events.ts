import { RECOVERED_EVENTS_MAX, recoverEvents } from '../../../flows/recover-events.ts'
import { recoverEventsBody, recoveryView } from '../../../wire/event.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

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
