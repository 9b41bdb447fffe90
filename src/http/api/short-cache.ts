import { LRUCache } from 'lru-cache'

/**
 * Caches loaded values for less than a second, so that a busy key costs no query per request and a change still takes
 * effect within one second. Failures are not cached; concurrent callers share one load.
 */
type ShortCache<Value> = { get(key: string): Promise<Value> }

/** Well under a second: a revoked key must be dead one second later. */
const CACHE_MS_MAX = 500
const ENTRIES_MAX = 10_000

export function createShortCache<Value>(options: {
  readonly load: (key: string) => Promise<Value>
  /** Whether a value may be kept: a key that is unknown now may exist in a moment. */
  readonly keep: (value: Value) => boolean
  readonly elapsedMs: () => number
}): ShortCache<Value> {
  const entries = new LRUCache<string, { value: Promise<Value>; untilMs: number }>({ max: ENTRIES_MAX })
  const forget = (key: string, value: Promise<Value>) => {
    if (entries.get(key)?.value === value) entries.delete(key)
  }
  return {
    get: (key) => {
      const nowMs = options.elapsedMs()
      const known = entries.get(key)
      if (known !== undefined && nowMs < known.untilMs) return known.value
      const value = options.load(key)
      entries.set(key, { value, untilMs: nowMs + CACHE_MS_MAX })
      value.then(
        (loaded) => {
          if (!options.keep(loaded)) forget(key, value)
        },
        () => forget(key, value),
      )
      return value
    },
  }
}
