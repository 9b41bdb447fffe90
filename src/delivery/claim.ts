import { randomUUID } from 'node:crypto'
import { recordLapsed } from '../db/delivery/attempts.ts'
import type { ClaimedDelivery } from '../db/delivery/deliveries.ts'
import { claimFromQueues, claimThrottled } from '../db/delivery/delivery-claims.ts'
import { lockThrottledQueues } from '../db/delivery/endpoint-queues.ts'
import type { Pool } from '../postgres/pool.ts'
import { type QueueTx, type Tx, withQueueTransaction, withSavepoint } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'

export type Claimed = {
  readonly leaseId: string
  readonly deliveries: readonly ClaimedDelivery[]
  readonly nextCursor: string
  readonly databaseNowMs: number
  /** Why not all attempts of unknown outcome could be recorded; null where they were. */
  readonly refusal: { readonly error: unknown } | null
  /** `performance.now()` when the claim was committed. */
  readonly claimedAt: number
}

/** What a process may hold of throttled endpoints besides what it does. */
export type ThrottledRoom = {
  /** Rows that it holds, by queue. */
  readonly held: ReadonlyMap<string, number>
  readonly rowsMax: number
  /** How many rows each queue may be given, whose oldest due delivery is so late. */
  rowsOf(due: readonly { endpointId: string; lateMs: number }[]): ReadonlyMap<string, number>
}

/**
 * Takes due deliveries under one new lease, in one commit, and records the attempts before them whose outcome nobody
 * will ever know.
 */
export async function claimDeliveries(
  deps: { pool: Pool; clock: Clock },
  input: {
    cursor: string
    rowsMax: number
    rowsByDefault: number
    roomByQueue: ReadonlyMap<string, number>
    /** What throttled endpoints may be sent; absent, nothing this time. */
    throttled?: ThrottledRoom
  },
): Promise<Claimed> {
  const leaseId = randomUUID()
  const claimed = await withQueueTransaction(deps.pool, async (tx) => {
    const slow = input.throttled === undefined ? [] : await claimThrottledQueues(tx, leaseId, input.throttled)
    const queues = await claimFromQueues(tx, { ...input, leaseId, rowsMax: input.rowsMax - slow.length })
    const deliveries = [...slow, ...queues.deliveries]
    const lapsed = deliveries.filter((delivery) => delivery.lapsed)
    const refusal = lapsed.length === 0 ? null : await recordUnknown(tx, deps.clock(), lapsed)
    return { deliveries, nextCursor: queues.nextCursor, databaseNowMs: queues.databaseNowMs, refusal }
  })
  return { ...claimed, leaseId, claimedAt: performance.now() }
}

/** Records attempts of unknown outcome, all that the database takes: one that it refuses holds up no claim. */
async function recordUnknown(
  tx: Tx,
  now: Date,
  lapsed: readonly ClaimedDelivery[],
): Promise<{ readonly error: unknown } | null> {
  const attempts = lapsed.map((delivery) => ({ ...delivery, attemptId: newId('attempt', now) }))
  const recordSome = (some: typeof attempts) =>
    withSavepoint<{ readonly error: unknown } | null>(
      tx,
      () => recordLapsed(tx, some).then(() => null),
      (error) => ({ error }),
    )
  let refusal = await recordSome(attempts)
  if (refusal === null || attempts.length === 1) return refusal
  for (const attempt of attempts) refusal = (await recordSome([attempt])) ?? refusal
  return refusal
}

async function claimThrottledQueues(
  tx: QueueTx,
  leaseId: string,
  room: ThrottledRoom,
): Promise<readonly ClaimedDelivery[]> {
  if (room.rowsMax === 0) return []
  const due = await lockThrottledQueues(tx, { held: room.held, queuesMax: room.rowsMax })
  if (due.length === 0) return []
  return (await claimThrottled(tx, { leaseId, rowsByQueue: room.rowsOf(due) })).deliveries
}
