import { retryDelayMs } from '../core/endpoint/backoff.ts'
import {
  type AwaitingReason,
  endUnrecorded,
  type FinishedAttempt,
  finishDelivered,
  giveUpFailed,
  lockHeld,
  postponeUnknown,
  postponeUnrecorded,
  rescheduleFailed,
} from '../db/delivery/attempts.ts'
import type { ClaimedDelivery } from '../db/delivery/deliveries.ts'
import { deleteQueues, lockQueues, saveFailures } from '../db/delivery/endpoint-queues.ts'
import { disableGoneEndpoints } from '../db/delivery/endpoints.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tx, withQueueTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import type { SendOutcome } from './send.ts'

/** One attempt, and how it ended. */
export type Outcome = {
  readonly delivery: ClaimedDelivery
  readonly leaseId: string
  readonly result: SendOutcome
}

/** The receiver says that it is gone for good, and so is its subscription (RFC 9110 §15.5.11). */
const STATUS_GONE = 410

type Decided = { readonly outcome: Outcome; readonly attempt: FinishedAttempt } & (
  | { readonly kind: 'delivered' | 'gone' | 'exhausted' }
  | { readonly kind: 'retry'; readonly delayMs: number }
)

/**
 * Records a batch of attempts in one commit: the attempts, what becomes of each delivery, the endpoints' queues. Attempts
 * whose lease is no longer held change nothing, so that a worker that slept through its lease cannot undo what
 * another did since.
 */
export async function recordOutcomes(
  deps: { pool: Pool; clock: Clock; random: () => number },
  outcomes: readonly Outcome[],
): Promise<void> {
  const decided = outcomes.map((outcome) => decide(deps, outcome))
  const delivered = decided.filter((one) => one.kind === 'delivered').map((one) => one.attempt)
  await withQueueTransaction(deps.pool, async (tx) => {
    if (delivered.length === decided.length) {
      await finishDelivered(tx, delivered)
      return
    }
    // One order for all who take locks here: deliveries that are held, endpoints, queues, events that await.
    const gone = await disableGone(tx, decided)
    const ends = decided.map((one) =>
      one.kind === 'gone' && !gone.includes(one.outcome.delivery)
        ? decideFailure(deps, one.outcome, one.attempt)
        : one,
    )
    await lockQueues(
      tx,
      ends.map((one) => one.outcome.delivery),
    )
    if (delivered.length > 0) await finishDelivered(tx, delivered)
    const held = await writeFailures(tx, ends)
    await saveTrailingFailures(tx, ends, held)
    if (gone.length > 0) await deleteQueues(tx, gone)
  })
}

/** What becomes of a delivery whose outcome the database refuses: sent again after a pause or a lease, or ended. */
export type UnrecordedEnd = 'postponed' | 'exhausted' | 'lapsed'

/**
 * Postpones a delivery whose outcome the database refuses, as if the attempt had failed, or ends it once its retries are
 * over: without a record it would be sent again at each lease for ever.
 */
export async function endWithoutRecord(
  deps: { pool: Pool; clock: Clock; random: () => number },
  { delivery, leaseId, result }: Outcome,
): Promise<UnrecordedEnd> {
  const held = { merchantId: delivery.merchantId, deliveryId: delivery.id, leaseId }
  const delayMs = retryDelayMs(delivery.attempt, deps.random(), result.retryAfterMs)
  const now = deps.clock()
  const isOver = now.getTime() + delayMs > delivery.giveUpAtMs
  if (isOver && (await isWritten(endUnrecorded(deps.pool, held)))) return 'exhausted'
  const attempt = { ...held, attemptId: newId('attempt', now) }
  if (await isWritten(postponeUnknown(deps.pool, attempt, delayMs))) return 'postponed'
  return (await isWritten(postponeUnrecorded(deps.pool, held, delayMs))) ? 'postponed' : 'lapsed'
}

/** What is refused here is the same row again, or the database is away: the first refusal is logged. */
const isWritten = (written: Promise<void>): Promise<boolean> =>
  written.then(
    () => true,
    () => false,
  )

/** Disables the endpoints that answered that they are gone, to deliveries that are still held. Returns those deliveries. */
async function disableGone(tx: Tx, decided: readonly Decided[]): Promise<ClaimedDelivery[]> {
  const gone = decided.filter((one) => one.kind === 'gone')
  if (gone.length === 0) return []
  const held = await lockHeld(
    tx,
    gone.map((one) => one.attempt),
  )
  const deliveries = gone.map((one) => one.outcome.delivery).filter((delivery) => held.has(delivery.id))
  if (deliveries.length === 0) return []
  const disabled = await disableGoneEndpoints(tx, deliveries)
  return deliveries.filter(({ endpointId }) => disabled.has(endpointId))
}

function decide(deps: { clock: Clock; random: () => number }, outcome: Outcome): Decided {
  const { delivery, result, leaseId } = outcome
  const now = deps.clock()
  const attempt: FinishedAttempt = {
    merchantId: delivery.merchantId,
    deliveryId: delivery.id,
    leaseId,
    attemptId: newId('attempt', now),
    httpStatus: result.httpStatus,
    code: result.code,
    durationMs: result.durationMs,
  }
  if (result.code === 'ok') return { kind: 'delivered', outcome, attempt }
  if (result.httpStatus === STATUS_GONE) return { kind: 'gone', outcome, attempt }
  return decideFailure(deps, outcome, attempt)
}

function decideFailure(
  deps: { clock: Clock; random: () => number },
  outcome: Outcome,
  attempt: FinishedAttempt,
): Decided {
  const { delivery, result } = outcome
  const delayMs = retryDelayMs(delivery.attempt, deps.random(), result.retryAfterMs)
  if (deps.clock().getTime() + delayMs > delivery.giveUpAtMs) return { kind: 'exhausted', outcome, attempt }
  return { kind: 'retry', outcome, attempt, delayMs }
}

/** Writes what failed; returns the ids of the deliveries that were still held. */
async function writeFailures(tx: Tx, decided: readonly Decided[]): Promise<Set<string>> {
  const retries = decided.flatMap((one) =>
    one.kind === 'retry' ? [{ ...one.attempt, delayMs: one.delayMs }] : [],
  )
  const last = decided.flatMap((one): (FinishedAttempt & { reason: AwaitingReason })[] => {
    if (one.kind === 'gone') return [{ ...one.attempt, reason: 'disabled' }]
    if (one.kind === 'exhausted') return [{ ...one.attempt, reason: 'exhausted' }]
    return []
  })
  return new Set([
    ...(retries.length > 0 ? await rescheduleFailed(tx, retries) : []),
    ...(last.length > 0 ? await giveUpFailed(tx, last) : []),
  ])
}

/** Counts the failures of each endpoint that came after its last success in this batch. */
async function saveTrailingFailures(
  tx: Tx,
  decided: readonly Decided[],
  held: ReadonlySet<string>,
): Promise<void> {
  const trailing = new Map<string, ClaimedDelivery & { failures: number }>()
  for (const { kind, outcome } of decided) {
    const { delivery } = outcome
    if (kind === 'delivered') trailing.delete(delivery.endpointId)
    if (kind === 'delivered' || kind === 'gone' || !held.has(delivery.id)) continue
    const failures = (trailing.get(delivery.endpointId)?.failures ?? 0) + 1
    trailing.set(delivery.endpointId, { ...delivery, failures })
  }
  if (trailing.size > 0) await saveFailures(tx, [...trailing.values()])
}
