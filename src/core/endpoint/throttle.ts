/** Failures in a row after which an endpoint is throttled, until its next success. */
export const THROTTLED_AT = 10
/** Requests at once to a throttled endpoint, from one process: those that hang take a slot for 10 seconds. */
export const THROTTLED_SLOTS_MAX = 64
/** Requests that one turn of a throttled endpoint begins. */
export const THROTTLED_ROWS_PER_TURN = 8
/** One request at once, and one more for each of these that its oldest due delivery has waited. */
export const LATE_MS_PER_SLOT = 60_000
/** A throttled endpoint is claimed from this often, by all processes together: failures that cost no time are many. */
export const THROTTLED_PACE_MS = 1_000
/** After so long without a success, the first one says that an outage is over: all that waits is due. */
export const OUTAGE_MS_MIN = 10 * 60_000

/** How many requests a throttled endpoint may be sent at once, when its oldest due delivery has waited for `lateMs`. */
export function throttledSlots(lateMs: number): number {
  return Math.min(THROTTLED_SLOTS_MAX, 1 + Math.floor(Math.max(0, lateMs) / LATE_MS_PER_SLOT))
}
