import { LRUCache } from 'lru-cache'

/** A caller may spend this many seconds' worth of requests at once. */
const BURST_SECONDS = 2
/** Callers remembered at a time; beyond it the least recently used start afresh, with a full bucket. */
const CALLERS_MAX = 10_000
/** The part of a full bucket that preferred requests may overdraw: the dashboard works while an integration floods. */
const OVERDRAFT_DIVISOR = 10

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

export type RateLimiter = {
  take(caller: string, livemode: boolean, options?: { readonly preferred: boolean }): RateDecision
}

/**
 * A token bucket for each caller and mode, in memory: `live` and `test` requests a second, a burst of twice that. Answers
 * at once, always.
 */
export function createRateLimiter(limits: RateLimits, elapsedMs: () => number): RateLimiter {
  const buckets = new LRUCache<string, { tokens: number; atMs: number }>({ max: CALLERS_MAX })
  return {
    take: (caller, livemode, { preferred } = { preferred: false }) => {
      const name = `${livemode ? 'L' : 'T'}${caller}`
      const rate = livemode ? limits.live : limits.test
      const limit = rate * BURST_SECONDS
      const nowMs = elapsedMs()
      const bucket = buckets.get(name) ?? { tokens: limit, atMs: nowMs }
      const filled = Math.min(limit, bucket.tokens + ((nowMs - bucket.atMs) / 1000) * rate)
      const allowed = filled >= (preferred ? 1 - limit / OVERDRAFT_DIVISOR : 1)
      const tokens = allowed ? filled - 1 : filled
      buckets.set(name, { tokens, atMs: nowMs })
      return {
        allowed,
        limit,
        remaining: Math.max(0, Math.floor(tokens)),
        resetSeconds: Math.ceil((limit - tokens) / rate),
        retryAfterSeconds: Math.max(1, Math.ceil((1 - tokens) / rate)),
      }
    },
  }
}
