import type { Clock } from '../runtime/clock.ts'

/** Host and database clocks further apart than this: signatures could be refused, so none are made. */
const CLOCK_SKEW_MS_MAX = 30_000

/** Whether the host's clock is too far from the database's, which decides what is due. */
export function isSkewed(databaseNowMs: number, clock: Clock): boolean {
  return Math.abs(databaseNowMs - clock().getTime()) > CLOCK_SKEW_MS_MAX
}
