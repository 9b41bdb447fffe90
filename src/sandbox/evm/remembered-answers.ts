import { LRUCache } from 'lru-cache'
import type { RpcAnswer } from './anvil-process.ts'

/** Questions of those that look at a chain at rest, over and over: some dozens for each program. */
const ANSWERS_MAX = 500
/** Characters of all of them, about. */
const CHARS_MAX = 4_000_000
/** What waits for a block, or what anvil keeps for the caller, may change while the chain does not. */
const UNLASTING_METHOD = /^txpool_|filter|subscri|sign|^debug_|^trace_/i
const UNLASTING_PLACE = /"pending"/

/** What the chain has answered since it changed last: as long as it stands, it would answer the same. */
export class RememberedAnswers {
  readonly #answers = new LRUCache<string, RpcAnswer>({
    max: ANSWERS_MAX,
    maxSize: CHARS_MAX,
    sizeCalculation: (answer, question) => question.length + JSON.stringify(answer).length,
  })

  /** Under which name the answer to a call is kept; null where it may be another one next time. */
  static questionOf(method: string, params: unknown): string | null {
    if (UNLASTING_METHOD.test(method)) return null
    const text = JSON.stringify(params) ?? ''
    return UNLASTING_PLACE.test(text) ? null : `${method} ${text}`
  }

  find(question: string | null): RpcAnswer | undefined {
    return question === null ? undefined : this.#answers.get(question)
  }

  keep(question: string | null, answer: RpcAnswer): void {
    if (question !== null) this.#answers.set(question, answer)
  }

  forget(): void {
    this.#answers.clear()
  }
}
