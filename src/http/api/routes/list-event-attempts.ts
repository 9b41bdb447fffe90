import type { z } from 'zod'
import { type AttemptRow, eventExists, listAttempts } from '../../../db/delivery/event-recovery.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { attemptList, type attemptView, listAttemptsQuery } from '../../../wire/event.ts'
import { pageOf } from '../../../wire/list.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

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

function attemptViewOf(row: AttemptRow): z.output<typeof attemptView> {
  return {
    id: row.id,
    object: 'attempt',
    event_id: row.event_id,
    endpoint_id: row.endpoint_id,
    number: row.number,
    http_status: row.http_status,
    // Written from the sender's own list of codes, which a test compares with the schema's.
    code: row.code as z.output<typeof attemptView>['code'],
    duration_ms: row.duration_ms,
    created_at: row.created_at.toISOString(),
  }
}
