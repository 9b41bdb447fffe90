/** A key may spend this many seconds' worth of requests at once. */
const BURST_SECONDS = 2
/** Keys remembered at a time; beyond it the least recently used start afresh, with a full bucket. */
const KEYS_MAX = 10_000

export type RateLimits = { readonly live: number; readonly test: number }

type RateDecision = {
  readonly allowed: boolean
  /** Requests that a full bucket holds. */
  readonly limit: number
  readonly remaining: number
  /** Until the bucket is full again. */
  readonly resetSeconds: number
  /** Until one request is possible. */
  readonly retryAfterSeconds: number
}

export type RateLimiter = { take(keyId: string, livemode: boolean): RateDecision }

/**
 * A token bucket for each API key, in memory: `live` and `test` requests a second, a burst of twice that. Answers
 * at once, always.
 */
export function createRateLimiter(limits: RateLimits, elapsedMs: () => number): RateLimiter {
  const buckets = new Map<string, { tokens: number; atMs: number }>()
  return {
    take: (keyId, livemode) => {
      const rate = livemode ? limits.live : limits.test
      const limit = rate * BURST_SECONDS
      const nowMs = elapsedMs()
      const bucket = buckets.get(keyId) ?? { tokens: limit, atMs: nowMs }
      const filled = Math.min(limit, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * rate)
      const allowed = filled >= 1
      const tokens = allowed ? filled - 1 : filled
      // Deleted and set again, the map is in order of use.
      buckets.delete(keyId)
      buckets.set(keyId, { tokens, atMs: nowMs })
      forgetOldest(buckets)
      return {
        allowed,
        limit,
        remaining: Math.floor(tokens),
        resetSeconds: Math.ceil((limit - tokens) / rate),
        retryAfterSeconds: Math.max(1, Math.ceil((1 - tokens) / rate)),
      }
    },
  }
}

function forgetOldest(buckets: Map<string, unknown>): void {
  if (buckets.size <= KEYS_MAX) return
  const oldest = buckets.keys().next().value
  if (oldest !== undefined) buckets.delete(oldest)
}
