import { ChainUnavailable } from './adapter.ts'
import { within } from './within.ts'

type Limits = {
  /** Maximum time for an answer. */
  readonly timeoutMs: number
  /** Who failed only after this time kept us waiting, and is left alone; who refused sooner is not. */
  readonly slowMs: number
  /** Pause after the first failure, doubled by each that follows without an answer between. */
  readonly pauseMs: number
  readonly pauseMsMax: number
}

/** Detection waits no longer for an opinion; who gave none is asked again after some time. */
export const OPINION: Limits = { timeoutMs: 3_000, slowMs: 0, pauseMs: 10_000, pauseMsMax: 10_000 }
/**
 * Logs and traces may take as long as any answer. Who refuses some blocks at once is asked about others; who only kept us
 * waiting is left alone, each time for longer.
 */
export const CONTENTS: Limits = { timeoutMs: 25_000, slowMs: 3_000, pauseMs: 30_000, pauseMsMax: 120_000 }

/** How long we wait for one kind of answer, and whom we leave alone since they kept us waiting. */
export class Patience<Provider extends object> {
  readonly #limits: Limits
  readonly #silent = new Map<Provider, { readonly untilMs: number; readonly pauseMs: number }>()

  constructor(limits: Limits) {
    this.#limits = limits
  }

  isSilent(provider: Provider): boolean {
    return (this.#silent.get(provider)?.untilMs ?? 0) > performance.now()
  }

  /** The first answers, so many at most, of those who are not left alone. Null is no answer, and a failure is none. */
  async firstOf<Result>(
    providers: readonly Provider[],
    question: (provider: Provider) => Promise<Result | null> | undefined,
    answersMax: number,
  ): Promise<Result[]> {
    const answers: Result[] = []
    for (const provider of providers) {
      if (this.isSilent(provider) || answers.length >= answersMax) continue
      try {
        const answer = await this.await(provider, Promise.resolve(question(provider) ?? null))
        if (answer !== null) answers.push(answer)
      } catch (error) {
        if (!(error instanceof ChainUnavailable)) throw error
      }
    }
    return answers
  }

  /** The provider's answer. Throws `ChainUnavailable` where it gives none in time. */
  async await<Result>(provider: Provider, answer: Promise<Result>): Promise<Result> {
    const { timeoutMs, slowMs, pauseMs: first, pauseMsMax } = this.#limits
    const beganAt = performance.now()
    try {
      const result = await within(timeoutMs, answer)
      this.#silent.delete(provider)
      return result
    } catch (error) {
      if (error instanceof ChainUnavailable && performance.now() - beganAt >= slowMs) {
        const pauseMs = Math.min(pauseMsMax, (this.#silent.get(provider)?.pauseMs ?? first / 2) * 2)
        this.#silent.set(provider, { untilMs: performance.now() + pauseMs, pauseMs })
      }
      throw error
    }
  }
}
