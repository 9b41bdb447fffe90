/** The wait before the first retry; each further wait is three times as long. */
export const BACKOFF_FIRST_MS = 5_000
const BACKOFF_FACTOR = 3
/** No two attempts are further apart (spec §8, retry backoff cap). */
export const BACKOFF_MAX_MS = 12 * 3_600_000
/**
 * The longest wait until a delivery is due again: half of the cap. The other half is for waiting in the queue, since by
 * then its endpoint may be throttled.
 */
export const WAIT_MS_MAX = BACKOFF_MAX_MS / 2
/** Jitter goes downward, by at most this share, so that the cap stays a cap. */
const JITTER_SHARE = 0.25
/** Retrying ends this long after the event was queued for an endpoint; it then awaits recovery. */
export const GIVE_UP_AFTER_MS = 5 * 24 * 3_600_000

/**
 * How long to wait, in ms, after the given failed attempt (1, 2, 3…): min(6 h, 5 s · 3ⁿ⁻¹) less up to a quarter by
 * `random` (0 ≤ random < 1). A receiver's Retry-After lengthens the wait, up to six hours too, and never shortens it.
 */
export function retryDelayMs(attempt: number, random: number, retryAfterMs: number | null): number {
  const full = Math.min(WAIT_MS_MAX, BACKOFF_FIRST_MS * BACKOFF_FACTOR ** Math.max(0, attempt - 1))
  const jittered = Math.round(full * (1 - JITTER_SHARE * random))
  return Math.max(jittered, Math.min(WAIT_MS_MAX, retryAfterMs ?? 0))
}

const SECONDS = /^[0-9]{1,9}$/

/** The wait in ms that a Retry-After header asks for (RFC 9110 §10.2.3: seconds or a date), or null where it says nothing. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number | null {
  if (value === undefined) return null
  const text = value.trim()
  if (SECONDS.test(text)) return Number(text) * 1_000
  const at = Date.parse(text)
  return Number.isNaN(at) ? null : Math.max(0, at - nowMs)
}
