import { type Context, Hono } from 'hono'
import { createAddressLeases } from '../../flows/steps/address-leases.ts'
import { AddressNotShown } from '../../flows/steps/shown-invoices.ts'
import { isDatabaseAway } from '../../postgres/database-away.ts'
import { newId } from '../../runtime/new-id.ts'
import { newRequestId } from '../../runtime/new-request-id.ts'
import { NO_BRANDING } from '../../web/checkout/branding.ts'
import { contentSecurityPolicy, SECURITY_HEADERS } from '../../web/checkout/content-security.ts'
import { unknownPage } from '../../web/checkout/plain-pages.ts'
import { ERRORS, type ErrorCode } from '../../wire/errors.ts'
import { addDocumentation, missingPage } from '../docs/documentation.ts'
import type { Answer } from './answer.ts'
import { type ApiContext, type ApiVariables, answerRequest, type Gate } from './answer-request.ts'
import { createAuthenticate } from './credentials.ts'
import type { ApiDeps } from './deps.ts'
import { createMarketReader } from './market.ts'
import {
  createMerchantSlots,
  createMerchantTotals,
  createReceiverSlots,
  createSharedSlots,
} from './merchant-slots.ts'
import { ApiProblem, errorBody } from './problem.ts'
import { createRateLimiter } from './rate-limit.ts'
import { API_PREFIX, type Route, type RouteDeps } from './route.ts'
import { ROUTES } from './routes.ts'
import { createRulesCache } from './rules-cache.ts'
import { createReadSession } from './session-credential.ts'

type Variables = ApiVariables

/** Prices, networks and pools that are away are asked for again so often, unless the problem says more. */
const RETRY_AFTER_SECONDS = '5'

export type ApiApp = Hono<Variables>

/** The merchants' API with its documentation, as a Hono app. Every answer carries `request-id`. */
export function createApiApp(deps: ApiDeps): ApiApp {
  const elapsedMs = deps.elapsedMs ?? (() => performance.now())
  const rulesOf = createRulesCache(deps.pool, elapsedMs)
  const leases = createAddressLeases({
    pool: deps.pool,
    issued: deps.issuedAddresses,
    elapsedMs,
    onError: (err) => deps.log.warn({ err }, 'addresses could not be leased'),
  })
  const slots = createMerchantSlots()
  const gate: Gate = {
    deps: { ...deps, rulesOf, marketOf: createMarketReader({ ...deps, elapsedMs, rulesOf }), leases },
    authenticate: createAuthenticate(deps, elapsedMs),
    ...(deps.findSignIn === undefined
      ? {}
      : { readSession: createReadSession({ ...deps, findSignIn: deps.findSignIn, slots }) }),
    limiter: createRateLimiter(deps.rateLimits, elapsedMs),
    slots,
    totals: createMerchantTotals(),
    sharedSlots: createSharedSlots(),
    receiverSlots: createReceiverSlots(),
  }
  const app: ApiApp = new Hono<Variables>()
  app.use((c, next) => {
    const requestId = newRequestId()
    c.set('requestId', requestId)
    c.set('headers', { 'request-id': requestId, 'x-content-type-options': 'nosniff' })
    return next()
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
  const startedAt = performance.now()
  const { status, body, headers } = await answerRequest(gate, route, c).catch((error: unknown) => {
    const code = error instanceof ApiProblem ? error.code : 'internal_error'
    recordRequest(gate.deps, route, c, { status: ERRORS[code].status, code, startedAt })
    throw error
  })
  recordRequest(gate.deps, route, c, { status, code: null, startedAt })
  if (status === 204) return new Response(null, { status, headers: c.get('headers') })
  return jsonResponse(c, status, body, headers)
}

/**
 * A plain object of headers goes to the socket as it is; the framework's own would be built and taken apart again.
 */
function jsonResponse(c: ApiContext, status: number, body: string, headers: Answer['headers']): Response {
  return new Response(body, { status, headers: { ...c.get('headers'), ...JSON_HEADERS, ...headers } })
}

const JSON_HEADERS = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' }

function problemResponse(deps: ApiDeps, c: Context<Variables>, problem: ApiProblem): Response {
  if (problem.code === 'path_not_found' && isBrowsing(c)) return notFoundPage(c)
  const body = JSON.stringify(errorBody(problem, c.get('requestId'), deps.baseUrl))
  const { status } = ERRORS[problem.code]
  const waiting = status === 503 ? { 'retry-after': RETRY_AFTER_SECONDS } : {}
  return jsonResponse(c, status, body, { ...waiting, ...problem.headers })
}

/** A person who followed a link; programs ask for JSON, or for anything. */
const isBrowsing = (c: Context<Variables>): boolean =>
  !c.req.path.startsWith(`${API_PREFIX}/`) && c.req.header('accept')?.includes('text/html') === true

function notFoundPage(c: Context<Variables>): Response {
  if (c.req.path.startsWith('/docs/')) return missingPage(c)
  const headers = {
    ...c.get('headers'),
    ...SECURITY_HEADERS,
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentSecurityPolicy(NO_BRANDING),
  }
  return new Response(unknownPage(c), { status: 404, headers })
}

/** An error that is not the caller's mistake is logged with its cause; the caller learns only the request's id. */
function toProblem(deps: ApiDeps, error: Error, c: Context<Variables>): ApiProblem {
  if (error instanceof ApiProblem) return error
  if (error instanceof AddressNotShown) return new ApiProblem('address_unverified', { cause: error })
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

const PATH_LENGTH_MAX = 500

/** Adds a request to the merchant's request log, except what the dashboard's own pages read over and over. */
function recordRequest(
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

const DATABASE_AWAY_RETRY_SECONDS = '1'

/** The 503 for an error that passes; null for a fault of ours. */
function asServiceUnavailable(error: Error): ApiProblem | null {
  if (!isDatabaseAway(error)) return null
  return new ApiProblem('service_unavailable', {
    headers: { 'retry-after': DATABASE_AWAY_RETRY_SECONDS },
    cause: error,
  })
}
