import { randomUUID } from 'node:crypto'
import { recordLapsed } from '../db/delivery/attempts.ts'
import type { ClaimedDelivery } from '../db/delivery/deliveries.ts'
import { claimFromLanes, claimThrottled } from '../db/delivery/delivery-claims.ts'
import { takeThrottled } from '../db/delivery/endpoint-queues.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tx, withQueueTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'

export type Claimed = {
  readonly leaseId: string
  readonly deliveries: readonly ClaimedDelivery[]
  readonly nextCursor: string
  readonly databaseNowMs: number
  /** `performance.now()` when the claim was committed. */
  readonly claimedAt: number
}

/** What a process may hold of throttled endpoints besides what it does. */
export type ThrottledRoom = {
  /** Rows that it holds, by lane. */
  readonly held: ReadonlyMap<string, number>
  readonly rowsMax: number
  /** How many rows each lane may be given, whose oldest due delivery is so late. */
  rowsOf(turns: readonly { endpointId: string; lateMs: number }[]): ReadonlyMap<string, number>
}

/**
 * Takes due deliveries under one new lease, in one commit, and records the tries before them whose outcome nobody
 * will ever know.
 */
export async function claimDeliveries(
  deps: { pool: Pool; clock: Clock },
  input: {
    cursor: string
    rowsMax: number
    rowsByDefault: number
    roomByLane: ReadonlyMap<string, number>
    /** What throttled endpoints may be sent; absent, nothing this time. */
    throttled?: ThrottledRoom
  },
): Promise<Claimed> {
  const leaseId = randomUUID()
  const claimed = await withQueueTransaction(deps.pool, async (tx) => {
    const slow = input.throttled === undefined ? [] : await claimTurns(tx, leaseId, input.throttled)
    const lanes = await claimFromLanes(tx, { ...input, leaseId, rowsMax: input.rowsMax - slow.length })
    const deliveries = [...slow, ...lanes.deliveries]
    const lapsed = deliveries.filter((delivery) => delivery.lapsed)
    if (lapsed.length > 0) {
      await recordLapsed(
        tx,
        lapsed.map((delivery) => ({ ...delivery, attemptId: newId('attempt', deps.clock()) })),
      )
    }
    return { deliveries, nextCursor: lanes.nextCursor, databaseNowMs: lanes.databaseNowMs }
  })
  return { ...claimed, leaseId, claimedAt: performance.now() }
}

async function claimTurns(tx: Tx, leaseId: string, room: ThrottledRoom): Promise<readonly ClaimedDelivery[]> {
  if (room.rowsMax === 0) return []
  const turns = await takeThrottled(tx, { held: room.held, lanesMax: room.rowsMax })
  if (turns.length === 0) return []
  return (await claimThrottled(tx, { leaseId, rowsByLane: room.rowsOf(turns) })).deliveries
}
