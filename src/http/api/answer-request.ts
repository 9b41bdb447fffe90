import type { Context } from 'hono'
import { ID_PATTERN } from '../../core/ids.ts'
import { isFreshSecondFactor } from '../../core/people/second-factor.ts'
import { appendAuditEntry } from '../../flows/append-audit-entry.ts'
import { withTransaction } from '../../postgres/transaction.ts'
import type { InTurn, Slots } from '../../runtime/slots.ts'
import type { Answer } from './answer.ts'
import type { Authenticate, Credential } from './credentials.ts'
import { createOnce, type IdempotentRequest, readIdempotencyKey } from './idempotency.ts'
import { parseInput, parseStrictQuery } from './parse-input.ts'
import { ApiProblem, orAway } from './problem.ts'
import type { RateLimiter } from './rate-limit.ts'
import { readBody } from './read-body.ts'
import type { Route, RouteDeps, RouteRequest } from './route.ts'
import type { ReadSession } from './session-credential.ts'
import { parseStrictJson } from './strict-json.ts'

export type ApiVariables = {
  Variables: {
    requestId: string
    /** The caller; absent until authenticated. */
    credential?: Credential
    /** Headers of every answer to this request. */
    headers: { readonly [name: string]: string }
  }
}
export type ApiContext = Context<ApiVariables>

export type Gate = {
  readonly deps: RouteDeps
  readonly authenticate: Authenticate
  /** Absent where no dashboard is served. */
  readonly readSession?: ReadSession
  readonly limiter: RateLimiter
  readonly slots: Slots
  readonly totals: Slots
  /** Of routes with `ahead`. */
  readonly sharedSlots: Slots
  /** Of routes with `awaitsReceiver`. */
  readonly receiverSlots: Slots
}

/**
 * Answers one request of one route. Mistakes are reported in one order: 401, (429,) 403, 415, 413, 404, 400, 409,
 * 422, 503, so that a caller who may not know that something exists never learns it from which mistake is reported.
 */
export async function answerRequest(gate: Gate, route: Route, c: ApiContext): Promise<Answer> {
  const { deps } = gate
  const credential = await readCredential(gate, c)
  c.set('credential', credential)
  c.set('headers', { ...c.get('headers'), ...spendRate(gate.limiter, credential) })
  checkRights(route, credential, deps.clock().getTime())
  const bytes = route.method === 'get' ? null : await readBody(c.req.raw, needsBody(route))
  const received = { credential, bytes, id: readId(route, c) }
  const { merchantId, livemode } = credential.tenant
  const mode = `${merchantId} ${livemode ? 'live' : 'test'}`
  const work = (inTurn: InTurn) => answerInTurn(deps, route, c, received, inTurn)
  if (route.awaitsReceiver === true) return gate.receiverSlots.run(mode, () => work(atOnce))
  const inTurn: InTurn = (act) => gate.slots.run(mode, () => gate.totals.run(merchantId, act))
  // What a person does is recorded before and after, each on a connection of its own.
  return route.ahead === undefined || credential.person !== null
    ? inTurn(() => work(atOnce))
    : gate.sharedSlots.run(mode, () => work(inTurn))
}

const atOnce: InTurn = (act) => act()

async function answerInTurn(
  deps: RouteDeps,
  route: Route,
  c: ApiContext,
  {
    credential,
    bytes,
    id,
  }: { readonly credential: Credential; readonly bytes: Uint8Array | null; readonly id: string | undefined },
  inTurn: InTurn,
): Promise<Answer> {
  const request = await refuseMissingFirst(deps, route, credential, id, () => ({
    tenant: credential.tenant,
    callerId: credential.callerId,
    person: credential.person,
    requestId: c.get('requestId'),
    id,
    query: readQuery(route, c),
    body: readBodyFields(route, bytes),
    idempotencyKey: route.create === undefined ? null : readIdempotencyKey(c.req.header('idempotency-key')),
  }))
  const about = { resourceId: id ?? null, requestId: request.requestId }
  return withAuditTrail(deps, route, credential, about, () =>
    runRoute(deps, route, request, c.req.path, inTurn).catch((error: unknown) => {
      throw orAway(error, deps.baseUrl)
    }),
  )
}

/** Reads the Bearer key, or else the dashboard's cookie; with neither, the error asks for a key. */
async function readCredential(gate: Gate, c: ApiContext): Promise<Credential> {
  const authorization = c.req.header('authorization')
  if (authorization === undefined && gate.readSession !== undefined) {
    const signedIn = await gate.readSession(c.req.raw)
    if (signedIn !== null) return signedIn
  }
  return gate.authenticate(authorization)
}

/** Spends one request of what the merchant's keys and people share in this mode. Throws `rate_limited`. */
function spendRate(limiter: RateLimiter, credential: Credential): { [name: string]: string } {
  const { merchantId, livemode } = credential.tenant
  const rate = limiter.take(merchantId, livemode, { preferred: credential.person !== null })
  const headers = {
    'ratelimit-limit': String(rate.limit),
    'ratelimit-remaining': String(rate.remaining),
    'ratelimit-reset': String(rate.resetSeconds),
  }
  if (rate.allowed) return headers
  throw new ApiProblem('rate_limited', {
    headers: { ...headers, 'retry-after': String(rate.retryAfterSeconds) },
  })
}

/** A path parameter that is not an id is answered exactly like an id that does not exist. */
function readId(route: Route, c: ApiContext): string | undefined {
  if (!route.path.includes('/:id')) return undefined
  const id = c.req.param('id')
  if (id === undefined || !ID_PATTERN.test(id)) throw new ApiProblem('not_found')
  return id
}

/** Runs `parse`; if it rejects the request, a missing resource is reported first. */
async function refuseMissingFirst<Parsed>(
  deps: RouteDeps,
  route: Route,
  credential: Credential,
  id: string | undefined,
  parse: () => Parsed,
): Promise<Parsed> {
  try {
    return parse()
  } catch (error) {
    const { exists } = route
    if (error instanceof ApiProblem && exists !== undefined && id !== undefined) {
      const { tenant } = credential
      const found = await withTransaction(deps.pool, tenant, (tx) => exists(tx, tenant, id))
      if (!found) throw new ApiProblem('not_found', { cause: error })
    }
    throw error
  }
}

function readQuery(route: Route, c: ApiContext): unknown {
  const known = route.query === undefined ? [] : Object.keys(route.query.shape)
  const parameters = parseStrictQuery(new URL(c.req.url).search, known)
  return route.query === undefined ? undefined : parseInput(route.query, parameters)
}

const needsBody = (route: Route): boolean => route.body !== undefined && route.bodyOptional !== true

function readBodyFields(route: Route, bytes: Uint8Array | null): unknown {
  if (bytes === null || (route.body === undefined && bytes.length === 0)) return undefined
  const fields = bytes.length === 0 && !needsBody(route) ? {} : parseStrictJson(bytes)
  if (route.body !== undefined) return parseInput(route.body, fields)
  const unknown = Object.keys(fields)[0]
  if (unknown !== undefined) throw new ApiProblem('parameter_unknown', { param: unknown })
  return undefined
}

async function runRoute(
  deps: RouteDeps,
  route: Route,
  request: RouteRequest & { readonly idempotencyKey: string | null },
  path: string,
  inTurn: InTurn,
): Promise<Answer> {
  const { create, answerFirst, handler, refuse, exists } = route
  const { tenant } = request
  if (create !== undefined) {
    const prepare = () => route.prepare?.(deps, request)
    let prepared = await prepare()
    const idempotent: IdempotentRequest | null =
      request.idempotencyKey === null
        ? null
        : {
            scope: { tenant, method: route.method, route: route.path, key: request.idempotencyKey },
            path,
            query: request.query,
            body: request.body,
          }
    return createOnce(deps, idempotent, {
      tenant,
      status: route.success.status,
      // A turn may come seconds later: what is made in it has the time, the price and the rules of then.
      inTurn: (act) =>
        inTurn(async () => {
          if (inTurn !== atOnce) prepared = await prepare()
          return act()
        }),
      ahead: () => route.ahead?.(deps, request, prepared) ?? null,
      create: (tx) => create(deps, request, tx, prepared),
      answerFirst: async (tx) => (await answerFirst?.(deps, request, tx, prepared)) ?? null,
      refuse: async (tx) => {
        if (
          exists !== undefined &&
          typeof request.id === 'string' &&
          !(await exists(tx, tenant, request.id))
        ) {
          throw new ApiProblem('not_found')
        }
        refuse?.(deps, request, prepared)
      },
    })
  }
  if (handler === undefined) throw new Error(`${route.operationId} has no handler`)
  const view = await handler(deps, request)
  return {
    status: route.success.status,
    body: route.success.status === 204 ? '' : JSON.stringify(view),
    headers: {},
  }
}

/**
 * Runs what a person does at the dashboard between two entries of the merchant's audit log: that it was begun,
 * and how it ended. An act whose second entry is missing was cut off, and may have happened.
 */
async function withAuditTrail(
  deps: RouteDeps,
  route: Route,
  credential: Credential,
  about: { resourceId: string | null; requestId: string },
  act: () => Promise<Answer>,
): Promise<Answer> {
  if (credential.person === null || route.method === 'get') return act()
  const entry = { actor: credential.callerId, action: route.operationId, requestId: about.requestId }
  const append = (phase: 'begun' | 'done' | 'refused', code: string | null, resourceId = about.resourceId) =>
    appendAuditEntry(deps, credential.tenant, { ...entry, resourceId, phase, code })
  await append('begun', null)
  try {
    const answer = await act()
    await append('done', null, about.resourceId ?? createdId(route, answer))
    return answer
  } catch (error) {
    if (error instanceof ApiProblem) await append('refused', error.code)
    throw error
  }
}

/** The id of what a route created; null on a route that creates nothing. */
function createdId(route: Route, { body }: Answer): string | null {
  const view: unknown = route.create === undefined ? null : JSON.parse(body)
  if (typeof view !== 'object' || view === null || !('id' in view)) return null
  return typeof view.id === 'string' ? view.id : null
}

/**
 * The one place that decides what a credential may do on a route, before anything is read: scope or role first, then
 * the mode, then, for what moves money, keys or rules, the role of owner or admin with a second factor proved at most
 * five minutes ago (spec §5.5, §5.6). Throws the 403 that says which is missing.
 */
function checkRights(route: Route, credential: Credential, nowMs: number): void {
  const { person, scopes, tenant } = credential
  if (route.scope !== null && !scopes.has(route.scope)) {
    if (person !== null) throw new ApiProblem('role_insufficient')
    throw new ApiProblem('scope_missing', { message: `The API key lacks the scope ${route.scope}.` })
  }
  if (route.dashboardOnly === true && person === null) throw new ApiProblem('dashboard_session_required')
  if (route.managers === true && person !== null && !isManager(person.role)) {
    throw new ApiProblem('role_insufficient')
  }
  if (!tenant.livemode) return
  if (route.live === 'test_only') throw new ApiProblem('test_mode_only')
  if (route.live !== 'session') return
  if (person === null) throw new ApiProblem('dashboard_session_required')
  if (!isManager(person.role)) throw new ApiProblem('role_insufficient')
  if (route.provesFactor === true) return
  if (!isFreshSecondFactor(person.secondFactorAtMs, nowMs)) throw new ApiProblem('second_factor_required')
}

const isManager = (role: string): boolean => role === 'owner' || role === 'admin'
