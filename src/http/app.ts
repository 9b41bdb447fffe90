import { randomUUID } from 'node:crypto'
import { type Context, Hono } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { ERRORS } from '../wire/errors.ts'
import { type ApiContext, answerRequest, type Gate } from './answer-request.ts'
import { createAuthenticate } from './credentials.ts'
import type { ApiDeps } from './deps.ts'
import { addDocumentation } from './documentation.ts'
import { ApiProblem, errorBody } from './problem.ts'
import { createRateLimiter } from './rate-limit.ts'
import { API_PREFIX, type Route } from './route.ts'
import { ROUTES } from './routes.ts'
import { createRulesCache } from './rules-cache.ts'
import { asServiceUnavailable } from './service-unavailable.ts'

type Variables = { Variables: { requestId: string } }
export type ApiApp = Hono<Variables>

/** The merchants' API with its documentation, as a Hono app. Every answer carries `request-id`. */
export function createApiApp(deps: ApiDeps): ApiApp {
  const elapsedMs = deps.elapsedMs ?? (() => performance.now())
  const gate: Gate = {
    deps: { ...deps, rulesOf: createRulesCache(deps.pool, elapsedMs) },
    authenticate: createAuthenticate(deps.pool, elapsedMs),
    limiter: createRateLimiter(deps.rateLimits, elapsedMs),
  }
  const app: ApiApp = new Hono<Variables>()
  app.use(async (c, next) => {
    const requestId = `req_${randomUUID().replaceAll('-', '')}`
    c.set('requestId', requestId)
    await next()
    c.header('request-id', requestId)
    c.header('x-content-type-options', 'nosniff')
  })
  for (const route of ROUTES) {
    app.on(route.method.toUpperCase(), API_PREFIX + route.path, (c) => respond(gate, route, c))
  }
  for (const [path, allow] of allowedMethods(ROUTES)) {
    app.all(path, () => {
      throw new ApiProblem('method_not_allowed', { headers: { allow } })
    })
  }
  addDocumentation(app, ROUTES, deps.baseUrl)
  app.notFound((c) => problemResponse(deps, c, new ApiProblem('path_not_found')))
  app.onError((error, c) => problemResponse(deps, c, toProblem(deps, error, c)))
  return app
}

async function respond(gate: Gate, route: Route, c: ApiContext): Promise<Response> {
  const answer = await answerRequest(gate, route, c)
  if (answer.status === 204) return c.body(null, 204)
  return c.body(answer.body, answer.status as ContentfulStatusCode, { ...JSON_HEADERS, ...answer.headers })
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }

function problemResponse(deps: ApiDeps, c: Context<Variables>, problem: ApiProblem): Response {
  const body = JSON.stringify(errorBody(problem, c.get('requestId'), deps.baseUrl))
  return c.body(body, ERRORS[problem.code].status, { ...JSON_HEADERS, ...problem.headers })
}

/** What is no mistake of the caller's is logged with its cause, and the caller learns only the request's id. */
function toProblem(deps: ApiDeps, error: Error, c: Context<Variables>): ApiProblem {
  if (error instanceof ApiProblem) return error
  const unavailable = asServiceUnavailable(error)
  const about = { requestId: c.get('requestId'), method: c.req.method, path: c.req.path, err: error }
  if (unavailable !== null) {
    deps.log.warn(about, 'the database could not serve a request')
    return unavailable
  }
  deps.log.error(about, 'a request failed')
  return new ApiProblem('internal_error', { cause: error })
}

function allowedMethods(routes: readonly Route[]): Map<string, string> {
  const allowed = new Map<string, string>()
  for (const route of routes) {
    const path = API_PREFIX + route.path
    const methods = route.method === 'get' ? 'GET, HEAD' : route.method.toUpperCase()
    const known = allowed.get(path)
    allowed.set(path, known === undefined ? methods : `${known}, ${methods}`)
  }
  return allowed
}
