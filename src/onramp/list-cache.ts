import { LRUCache } from 'lru-cache'
import type { ProviderAnswer } from '../core/card/onramp-provider.ts'
import type { Clock } from '../runtime/clock.ts'

/** More than the places that anybody asks from while answers are kept. */
const KEPT_MAX = 400

/** A list that may be kept for a while, or an answer that holds for this question only. */
export type Kept<Value> =
  | { readonly kind: 'kept'; readonly value: Value }
  | { readonly kind: 'not_kept'; readonly answer: ProviderAnswer }

/** Keeps a provider's lists for `keptMs`, by key; other answers are not kept. Callers that wait for the same key share one question. */
export function createListCache<Value>(options: { readonly clock: Clock; readonly keptMs: number }) {
  const kept = new LRUCache<string, { readonly untilMs: number; readonly value: Promise<Kept<Value>> }>({
    max: KEPT_MAX,
  })
  return {
    get: async (key: string, ask: () => Promise<Kept<Value>>): Promise<Kept<Value>> => {
      const nowMs = options.clock().getTime()
      const known = kept.get(key)
      if (known !== undefined && nowMs < known.untilMs) return known.value
      const value = ask()
      const entry = { untilMs: nowMs + options.keptMs, value }
      kept.set(key, entry)
      const drop = () => {
        if (kept.get(key) === entry) kept.delete(key)
      }
      try {
        const answer = await value
        if (answer.kind === 'not_kept') drop()
        return answer
      } catch (error) {
        drop()
        throw error
      }
    },
  }
}
