import type { Clock } from '../clock.ts'
import type { ProviderAnswer } from '../core/card/onramp-provider.ts'

/** More than there are places that anybody asks from in the time that answers are kept. */
const KEPT_MAX = 400

/** What a provider said that holds for a while, or the answer that ends the question. */
export type Kept<Value> =
  | { readonly kind: 'kept'; readonly value: Value }
  | { readonly kind: 'not_kept'; readonly answer: ProviderAnswer }

/** Keeps a provider's lists for a while, by a key; what was no list is not kept. Asks once for those who wait together. */
export function createKeptAnswers<Value>(options: { readonly clock: Clock; readonly keptMs: number }) {
  const kept = new Map<string, { readonly untilMs: number; readonly value: Promise<Kept<Value>> }>()
  return {
    get: async (key: string, ask: () => Promise<Kept<Value>>): Promise<Kept<Value>> => {
      const nowMs = options.clock().getTime()
      const known = kept.get(key)
      if (known !== undefined && nowMs < known.untilMs) return known.value
      const oldest = kept.keys().next().value
      if (kept.size >= KEPT_MAX && oldest !== undefined) kept.delete(oldest)
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
