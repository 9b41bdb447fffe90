import type { ClaimedDelivery } from '../db/delivery/deliveries.ts'
import { endSuperseded, putBehind, readTurns } from '../db/delivery/delivery-order.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import type { Claimed } from './claim.ts'

/** So long after what it waits for is due, or while that is being sent, a delivery is looked at again. */
const LOOK_AGAIN_MS = 500

/** Whether a receiver puts events in order by itself: our own format numbers them. */
export const isNumbered = ({ format }: Pick<ClaimedDelivery, 'format'>): boolean => format === 'paylink'

/**
 * Of a claim's deliveries without numbers those whose turn it is, in order; the others are given back for later, or
 * ended where a later event says it all.
 */
export async function whoseTurnItIs(
  { pool, clock }: { pool: Pool; clock: Clock },
  { leaseId, deliveries }: Pick<Claimed, 'leaseId' | 'deliveries'>,
): Promise<ClaimedDelivery[]> {
  const unnumbered = deliveries.filter((delivery) => !isNumbered(delivery))
  if (unnumbered.length === 0) return []
  const turns = new Map((await readTurns(pool, leaseId, unnumbered)).map((turn) => [turn.id, turn]))
  const now = clock()
  const ended = unnumbered
    .filter(({ id }) => turns.get(id)?.superseded === true)
    .map((delivery) => ({ ...delivery, attemptId: newId('attempt', now) }))
  const waiting = unnumbered.flatMap((delivery) => {
    const { superseded = true, waitMs = null } = turns.get(delivery.id) ?? {}
    return superseded || waitMs === null ? [] : [{ ...delivery, delayMs: waitMs + LOOK_AGAIN_MS }]
  })
  if (waiting.length > 0) await putBehind(pool, leaseId, waiting)
  if (ended.length > 0) await endSuperseded(pool, leaseId, ended)
  return unnumbered.filter(({ id }) => {
    const turn = turns.get(id)
    return turn !== undefined && !turn.superseded && turn.waitMs === null
  })
}
