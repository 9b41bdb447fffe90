/** The wait before the first retry; each further wait is three times as long. */
export const BACKOFF_FIRST_MS = 5_000
const BACKOFF_FACTOR = 3
/** No two attempts are further apart (spec §8, retry backoff cap). */
export const BACKOFF_MAX_MS = 12 * 3_600_000
/** A wait ends a little earlier, so that the attempt itself begins within the cap. */
const BEFORE_CAP_MS = 60_000
/**
 * Where the endpoint is throttled, or may be by then, a delivery waits half of that at most: the other half is for its
 * turn.
 */
export const THROTTLED_WAIT_MS_MAX = BACKOFF_MAX_MS / 2
/** Jitter goes downward, by at most this share, so that the cap stays a cap. */
const JITTER_SHARE = 0.25
/** Retrying ends this long after the event was queued for an endpoint; it then awaits recovery. */
export const GIVE_UP_AFTER_MS = 5 * 24 * 3_600_000

/**
 * How long to wait after the given failed attempt (1, 2, 3…): min(cap, 5 s · 3ⁿ⁻¹) less up to a quarter by
 * `random` (0 ≤ random < 1). A receiver's Retry-After lengthens the wait up to six hours and never shortens it.
 */
export function retryDelayMs(
  attempt: number,
  random: number,
  retryAfterMs: number | null,
  isThrottled = false,
): number {
  const cap = isThrottled ? THROTTLED_WAIT_MS_MAX : BACKOFF_MAX_MS - BEFORE_CAP_MS
  const full = Math.min(cap, BACKOFF_FIRST_MS * BACKOFF_FACTOR ** Math.max(0, attempt - 1))
  const jittered = Math.round(full * (1 - JITTER_SHARE * random))
  return Math.max(jittered, Math.min(THROTTLED_WAIT_MS_MAX, retryAfterMs ?? 0))
}

const SECONDS = /^[0-9]{1,9}$/

/** The wait that a Retry-After header asks for (RFC 9110 §10.2.3: seconds or a date), or null where it says nothing. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null
  const text = value.trim()
  if (SECONDS.test(text)) return Number(text) * 1_000
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs)
}
