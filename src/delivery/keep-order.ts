import type { ClaimedDelivery } from '../db/delivery/deliveries.ts'
import { endSuperseded, putBehind, readTurns } from '../db/delivery/delivery-order.ts'
import type { Pool } from '../postgres/pool.ts'
import { withQueueTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import type { Claimed } from './claim.ts'

/** A delivery is looked at again this long after the one that it waits for is due, or while that one is being sent. */
const LOOK_AGAIN_MS = 500

/** Whether a receiver puts events in order by itself: our own format numbers them. */
export const isNumbered = ({ format }: Pick<ClaimedDelivery, 'format'>): boolean => format === 'paylink'

/**
 * The deliveries of a claim in formats without sequence numbers that may be sent now, in order. The others are given back
 * for later, or ended as superseded where a later event of their invoice says it all.
 */
export async function keepOrder(
  { pool, clock }: { pool: Pool; clock: Clock },
  { leaseId, deliveries }: Pick<Claimed, 'leaseId' | 'deliveries'>,
): Promise<ClaimedDelivery[]> {
  const unnumbered = deliveries.filter((delivery) => !isNumbered(delivery))
  if (unnumbered.length === 0) return []
  const turns = new Map(
    (await withQueueTransaction(pool, (tx) => readTurns(tx, leaseId, unnumbered))).map((turn) => [
      turn.id,
      turn,
    ]),
  )
  const now = clock()
  const ended: (ClaimedDelivery & { attemptId: string })[] = []
  const waiting: (ClaimedDelivery & { delayMs: number })[] = []
  const next: ClaimedDelivery[] = []
  for (const delivery of unnumbered) {
    const turn = turns.get(delivery.id)
    // Without one it is no longer held under this lease.
    if (turn === undefined) continue
    if (turn.superseded) ended.push({ ...delivery, attemptId: newId('attempt', now) })
    else if (turn.waitMs !== null) waiting.push({ ...delivery, delayMs: turn.waitMs + LOOK_AGAIN_MS })
    else next.push(delivery)
  }
  if (waiting.length > 0) await withQueueTransaction(pool, (tx) => putBehind(tx, leaseId, waiting))
  if (ended.length > 0) await withQueueTransaction(pool, (tx) => endSuperseded(tx, leaseId, ended))
  return next
}
