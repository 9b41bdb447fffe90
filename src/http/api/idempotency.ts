import { createHash } from 'node:crypto'
import { canonicalJson } from '../../core/canonical-json.ts'
import {
  answerContext,
  claimFreshKey,
  deleteStoredAnswer,
  findStoredAnswer,
  IDEMPOTENCY_KEPT_MS,
  type IdempotencyScope,
  type StoredAnswer,
  storeAnswer,
  tryLockIdempotencyKey,
} from '../../db/requests/idempotency.ts'
import { isRefusal, type Tx, withStatementBatch, withTransaction } from '../../postgres/transaction.ts'
import type { InTurn } from '../../runtime/slots.ts'
import type { Answer } from './answer.ts'
import { ApiProblem } from './problem.ts'
import type { Ahead, Created, RouteDeps } from './route.ts'

const KEY = /^[\x20-\x7e]{1,255}$/

/** What makes two requests the same: where they went, and their parsed content. */
export type IdempotentRequest = {
  readonly scope: IdempotencyScope
  readonly path: string
  readonly query: unknown
  readonly body: unknown
}

type Claim =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'replay'; readonly answer: Answer }
  | { readonly kind: 'conflict'; readonly code: 'idempotency_key_in_use' | 'idempotency_key_reused' }

/** The Idempotency-Key header, or null where there is none. Throws `idempotency_key_invalid`. */
export function readIdempotencyKey(header: string | undefined): string | null {
  if (header === undefined) return null
  if (!KEY.test(header)) throw new ApiProblem('idempotency_key_invalid', { param: 'Idempotency-Key' })
  return header
}

/** What a route creates, and how. */
type Creation = {
  readonly tenant: IdempotencyScope['tenant']
  readonly status: number
  /** For what takes a connection of its own. */
  readonly inTurn: InTurn
  readonly ahead: () => Ahead<unknown> | null
  readonly create: (tx: Tx) => Promise<Created<unknown>>
  readonly answerFirst: (tx: Tx) => Promise<Created<unknown> | null>
  readonly refuse: (tx: Tx) => Promise<void>
}

/**
 * Runs `create` at most once for an Idempotency-Key: claim, resource, event and answer commit together. A repeat
 * gets the stored answer byte for byte; an error rolls all of it back, so that a retry executes. `refuse` throws
 * what comes before a key's 409 and 422; `answerFirst` comes before the key itself.
 */
export async function createOnce(
  deps: RouteDeps,
  request: IdempotentRequest | null,
  route: Creation,
): Promise<Answer> {
  const ahead = route.ahead()
  const made = ahead === null ? null : await createAhead(deps, request, route, ahead)
  if (made !== null) return made
  return route.inTurn(() => createAlone(deps, request, route))
}

async function createAlone(
  deps: RouteDeps,
  request: IdempotentRequest | null,
  route: Creation,
): Promise<Answer> {
  let afterCommit: (() => void) | undefined
  const answer = await withTransaction(deps.pool, route.tenant, async (tx): Promise<Answer> => {
    const answered = await route.answerFirst(tx)
    if (answered !== null) return answerOf(answered, route.status)
    const requestHash = request === null ? null : hashRequest(request)
    if (request !== null && requestHash !== null) {
      const claim = await claimKey(deps, tx, request.scope, requestHash)
      if (claim.kind === 'replay') return claim.answer
      if (claim.kind === 'conflict') {
        await route.refuse(tx)
        throw new ApiProblem(claim.code)
      }
    }
    const created = await route.create(tx)
    // Awaited below, unless the answer cannot be made: then the transaction ends with that.
    created.written?.catch(() => {})
    const made = answerOf(created, route.status)
    await Promise.all([
      created.written,
      request === null || requestHash === null
        ? null
        : keepAnswer(deps, tx, request.scope, requestHash, made),
    ])
    afterCommit = created.afterCommit
    return made
  })
  afterCommit?.()
  return answer
}

/** The same in one round trip, for a key that is fresh; null where the database refused, and nothing has happened. */
async function createAhead(
  deps: RouteDeps,
  request: IdempotentRequest | null,
  { tenant, status }: { tenant: IdempotencyScope['tenant']; status: number },
  ahead: Ahead<unknown>,
): Promise<Answer | null> {
  try {
    const { created, answer, kept } = await withStatementBatch(deps.pool, tenant, async (tx) => {
      const claimed = request === null ? null : claimFreshKey(tx, request.scope, lockOf(request.scope))
      const created = await ahead.create(tx)
      const answer = answerOf(created, status)
      const kept = Promise.all([
        claimed,
        created.written,
        request === null ? null : keepAnswer(deps, tx, request.scope, hashRequest(request), answer),
      ])
      // The batch fails with each of them, and is awaited first.
      kept.catch(() => {})
      return { created, answer, kept }
    })
    await kept
    created.afterCommit?.()
    return answer
  } catch (error) {
    if (!isRefusal(error)) throw error
    if (isRefusal(error, 'keyNotFresh')) ahead.giveBack()
    return null
  }
}

const answerOf = (created: Created<unknown>, status: number): Answer => ({
  status: created.status ?? status,
  body: JSON.stringify(created.view),
  headers: {},
})

async function claimKey(
  deps: RouteDeps,
  tx: Tx,
  scope: IdempotencyScope,
  requestHash: Buffer,
): Promise<Claim> {
  // Sent together; the server reads only after it has tried the lock.
  const [locked, stored] = await Promise.all([
    tryLockIdempotencyKey(tx, lockOf(scope)),
    findStoredAnswer(tx, scope),
  ])
  if (!locked) return { kind: 'conflict', code: 'idempotency_key_in_use' }
  if (stored === null) return { kind: 'fresh' }
  if (stored.created_at.getTime() <= deps.clock().getTime() - IDEMPOTENCY_KEPT_MS) {
    await deleteStoredAnswer(tx, scope)
    return { kind: 'fresh' }
  }
  if (!stored.request_hash.equals(requestHash)) return { kind: 'conflict', code: 'idempotency_key_reused' }
  return { kind: 'replay', answer: openAnswer(deps, scope, stored) }
}

function openAnswer(deps: RouteDeps, scope: IdempotencyScope, stored: StoredAnswer): Answer {
  return {
    status: stored.response_status,
    body: deps.keyring.open(stored.response_body, answerContext(scope)).toString('utf8'),
    headers: { 'idempotent-replayed': 'true' },
  }
}

async function keepAnswer(
  deps: RouteDeps,
  tx: Tx,
  scope: IdempotencyScope,
  requestHash: Buffer,
  answer: Answer,
): Promise<void> {
  // Sealed: an answer may hold a secret that is shown once.
  const sealedBody = deps.keyring.seal(Buffer.from(answer.body), answerContext(scope))
  await storeAnswer(tx, scope, { requestHash, status: answer.status, sealedBody, now: deps.clock() })
}

/** The lock's number. Two scopes share one with a chance of 2⁻⁶⁴; then one of them is asked to try again. */
function lockOf(scope: IdempotencyScope): bigint {
  return createHash('sha256').update(answerContext(scope)).digest().readBigInt64BE(0)
}

function hashRequest(request: IdempotentRequest): Buffer {
  const { path, query, body } = request
  return createHash('sha256')
    .update(canonicalJson([path, query ?? null, body ?? null]))
    .digest()
}
