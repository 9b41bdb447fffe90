import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Pool } from '../db/pool.ts'
import { recordLapsed } from '../db/queries/attempts.ts'
import type { ClaimedDelivery } from '../db/queries/deliveries.ts'
import { claimFromLanes, claimProbes } from '../db/queries/delivery-claims.ts'
import { withQueueTransaction } from '../db/transaction.ts'
import { newId } from '../new-id.ts'

export type Claimed = {
  readonly leaseId: string
  readonly deliveries: readonly ClaimedDelivery[]
  readonly nextCursor: string
  readonly databaseNowMs: number
  /** `performance.now()` when the claim was committed. */
  readonly claimedAt: number
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
    /** Open lanes to probe at most; 0 for none this time. */
    probesMax: number
  },
): Promise<Claimed> {
  const leaseId = randomUUID()
  const claimed = await withQueueTransaction(deps.pool, async (tx) => {
    const probes = input.probesMax > 0 ? await claimProbes(tx, { leaseId, rowsMax: input.probesMax }) : null
    const probeRows = probes?.deliveries ?? []
    const lanes = await claimFromLanes(tx, { ...input, leaseId, rowsMax: input.rowsMax - probeRows.length })
    const deliveries = [...probeRows, ...lanes.deliveries]
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
