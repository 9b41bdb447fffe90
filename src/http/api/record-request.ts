import { newId } from '../../runtime/new-id.ts'
import type { ErrorCode } from '../../wire/errors.ts'
import type { ApiContext } from './answer-request.ts'
import type { Route, RouteDeps } from './route.ts'

const PATH_LENGTH_MAX = 500

/** Adds a request to the merchant's request log, except what the dashboard's own pages read over and over. */
export function recordRequest(
  deps: RouteDeps,
  route: Route,
  c: ApiContext,
  outcome: { status: number; code: ErrorCode | null; startedAt: number },
): void {
  const credential = c.get('credential')
  if (deps.recorder === undefined || credential === undefined) return
  if (credential.person !== null && route.method === 'get') return
  const createdAt = deps.clock()
  // As it was asked: a URL is ASCII, whatever bytes its escapes stand for, and so always storable.
  const { pathname, search } = new URL(c.req.url)
  deps.recorder.record({
    ...credential.tenant,
    id: newId('requestLog', createdAt),
    requestId: c.get('requestId'),
    caller: credential.callerId,
    method: route.method.toUpperCase(),
    route: route.path,
    path: (pathname + search).slice(0, PATH_LENGTH_MAX),
    status: outcome.status,
    errorCode: outcome.code,
    durationMs: Math.round(performance.now() - outcome.startedAt),
    createdAt,
  })
}
