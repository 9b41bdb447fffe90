/** The only source of the current time; tests pass their own. */
export type Clock = () => Date

export const systemClock: Clock = () => new Date()

/**
 * Whether `everyMs` has passed since `sinceMs`. A clock that was set back since then never holds work up for longer than
 * that: what was done in its future is due at once.
 */
export const isDue = (sinceMs: number, everyMs: number, nowMs: number): boolean =>
  Math.abs(nowMs - sinceMs) >= everyMs
