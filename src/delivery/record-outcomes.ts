import type { Clock } from '../clock.ts'
import { BACKOFF_FIRST_MS, retryDelayMs } from '../core/endpoint/backoff.ts'
import { advanceLane, type Lane, type LaneOutcome } from '../core/endpoint/breaker.ts'
import type { Pool } from '../db/pool.ts'
import {
  type AwaitingReason,
  type FinishedAttempt,
  finishDelivered,
  giveUpFailed,
  lockHeld,
  rescheduleFailed,
} from '../db/queries/attempts.ts'
import type { ClaimedDelivery } from '../db/queries/deliveries.ts'
import { deleteLanes, loadLanes, saveLanes, takeLanes } from '../db/queries/delivery-lanes.ts'
import { disableGoneEndpoints } from '../db/queries/endpoints.ts'
import { type Tx, withQueueTransaction } from '../db/transaction.ts'
import { newId } from '../new-id.ts'
import type { SendOutcome } from './send.ts'

/** One try that was made, and how it ended. */
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
 * Records a batch of tries in one commit: the attempts, what becomes of each delivery, the endpoints' lanes. Tries
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
    // One order for all who take locks here: deliveries that are held, endpoints, lanes, events that await.
    const gone = await disableGone(tx, decided)
    await takeLanes(
      tx,
      decided.map((one) => one.outcome.delivery),
    )
    if (delivered.length > 0) await finishDelivered(tx, delivered)
    const held = await writeFailures(tx, decided)
    await writeLanes(tx, decided, held, deps.clock().getTime())
    if (gone.length > 0) await deleteLanes(tx, gone)
  })
}

/** Disables the endpoints that answered that they are gone, to deliveries that are still held. Returns them. */
async function disableGone(tx: Tx, decided: readonly Decided[]): Promise<ClaimedDelivery[]> {
  const gone = decided.filter((one) => one.kind === 'gone')
  if (gone.length === 0) return []
  const held = await lockHeld(
    tx,
    gone.map((one) => one.attempt),
  )
  const endpoints = gone.map((one) => one.outcome.delivery).filter((delivery) => held.has(delivery.id))
  if (endpoints.length > 0) await disableGoneEndpoints(tx, endpoints)
  return endpoints
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
  const delayMs = retryDelayMs(delivery.attempt, deps.random(), result.retryAfterMs)
  if (now.getTime() + delayMs > delivery.giveUpAtMs) return { kind: 'exhausted', outcome, attempt }
  return { kind: 'retry', outcome, attempt, delayMs }
}

/** Writes what failed; returns when each delivery that was still held is due again, null where it was given up. */
async function writeFailures(tx: Tx, decided: readonly Decided[]): Promise<Map<string, number | null>> {
  const held = new Map<string, number | null>()
  const retries = decided.flatMap((one) =>
    one.kind === 'retry' ? [{ ...one.attempt, delayMs: one.delayMs }] : [],
  )
  if (retries.length > 0) {
    for (const moved of await rescheduleFailed(tx, retries)) held.set(moved.id, moved.dueAtMs)
  }
  const last = decided.flatMap((one): (FinishedAttempt & { reason: AwaitingReason })[] => {
    if (one.kind === 'gone') return [{ ...one.attempt, reason: 'disabled' }]
    if (one.kind === 'exhausted') return [{ ...one.attempt, reason: 'exhausted' }]
    return []
  })
  if (last.length > 0) for (const id of await giveUpFailed(tx, last)) held.set(id, null)
  return held
}

/** Moves the lanes of the endpoints that failed, by what came after each one's last success in this batch. */
async function writeLanes(
  tx: Tx,
  decided: readonly Decided[],
  held: ReadonlyMap<string, number | null>,
  nowMs: number,
): Promise<void> {
  const trailing = new Map<string, { delivery: ClaimedDelivery; outcomes: LaneOutcome[] }>()
  for (const one of decided) {
    const { delivery } = one.outcome
    if (one.kind === 'delivered') trailing.delete(delivery.endpointId)
    const retryAtMs = held.get(delivery.id)
    if (one.kind === 'delivered' || one.kind === 'gone' || retryAtMs === undefined) continue
    const lane = trailing.get(delivery.endpointId) ?? { delivery, outcomes: [] }
    lane.outcomes.push(laneOutcome(delivery, retryAtMs, nowMs))
    trailing.set(delivery.endpointId, lane)
  }
  const failed = [...trailing.values()]
  if (failed.length === 0) return
  const known = await loadLanes(
    tx,
    failed.map((lane) => lane.delivery),
  )
  const next = failed.flatMap(({ delivery, outcomes }) => {
    const lane = outcomes.reduce<Lane | null>(advanceLane, known.get(delivery.endpointId) ?? null)
    const { merchantId, endpointId, livemode } = delivery
    return lane === null ? [] : [{ ...lane, merchantId, endpointId, livemode }]
  })
  await saveLanes(
    tx,
    next.sort((a, b) => (a.endpointId < b.endpointId ? -1 : 1)),
  )
}

function laneOutcome(delivery: ClaimedDelivery, retryAtMs: number | null, nowMs: number): LaneOutcome {
  if (retryAtMs !== null) return { kind: 'retrying', deliveryId: delivery.id, retryAtMs }
  return { kind: 'given_up', deliveryId: delivery.id, retryAtMs: nowMs + BACKOFF_FIRST_MS }
}
