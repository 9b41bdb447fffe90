/** No part of a round begins after this: a provider that hangs on some blocks delays the head for one answer. */
export const ROUND_MS_MAX = 5_000

const RETRY_MS_MIN = 500
const RETRY_MS_MAX = 60_000

/** What failed again is read again after twice the pause before, in ms; 0 where it has not failed before. */
export const nextPauseMs = (pauseMs: number): number =>
  Math.min(RETRY_MS_MAX, Math.max(RETRY_MS_MIN, pauseMs * 2))
