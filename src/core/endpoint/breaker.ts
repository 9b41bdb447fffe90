/** Failures in a row after which an endpoint's lane opens. */
export const BREAKER_OPENS_AT = 10
const FAILURES_MAX = 1_000_000

/** What is remembered of an endpoint whose last tries failed. No lane: the last try succeeded, or there was none. */
export type Lane = {
  readonly failures: number
  /** While the lane is open: the one delivery that is tried, null where the next in line takes its place. */
  readonly probeId: string | null
  /** While the lane is open: when to try it. */
  readonly probeAtMs: number | null
}

export type LaneOutcome =
  | { readonly kind: 'succeeded' }
  /** The delivery waits for another attempt at `retryAtMs`. */
  | { readonly kind: 'retrying'; readonly deliveryId: string; readonly retryAtMs: number }
  /** The attempt failed and was the delivery's last. */
  | { readonly kind: 'given_up'; readonly deliveryId: string; readonly retryAtMs: number }

/**
 * The lane after one more outcome. A success closes it. From ten failures in a row it is open: the delivery that
 * failed last is tried again at its own backoff, the others wait untried, and results of other deliveries that
 * were still in flight move nothing but the count.
 */
export function advanceLane(lane: Lane | null, outcome: LaneOutcome): Lane | null {
  if (outcome.kind === 'succeeded') return null
  const failures = Math.min(FAILURES_MAX, (lane?.failures ?? 0) + 1)
  if (failures < BREAKER_OPENS_AT) return { failures, probeId: null, probeAtMs: null }
  const alreadyProbing = lane !== null && lane.probeAtMs !== null
  if (alreadyProbing && lane.probeId !== null && lane.probeId !== outcome.deliveryId) {
    return { ...lane, failures }
  }
  const probeId = outcome.kind === 'retrying' ? outcome.deliveryId : null
  return { failures, probeId, probeAtMs: outcome.retryAtMs }
}
