/** A second factor proved longer ago must be proved again before what moves money, keys or people (spec §5.6). */
const SECOND_FACTOR_MS_MAX = 5 * 60_000

/** Whether a second factor proved at `provedAtMs` still counts. A time in the future is a wrong clock, and counts for nothing. */
export function isFreshSecondFactor(provedAtMs: number | null, nowMs: number): boolean {
  return provedAtMs !== null && provedAtMs <= nowMs && nowMs - provedAtMs <= SECOND_FACTOR_MS_MAX
}
