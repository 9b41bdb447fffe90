import { ChainUnavailable } from './adapter.ts'
import { within } from './within.ts'

type Limits = {
  /** Maximum time for an answer. */
  readonly timeoutMs: number
  /** Only a failure that took so long opens the circuit; a provider that refuses sooner keeps nobody waiting. */
  readonly slowMs: number
  /** How long the circuit stays open after the first failure, doubled by each that follows without an answer between. */
  readonly pauseMs: number
  readonly pauseMsMax: number
}

/** Detection waits no longer for hashes and block tags of another provider. */
export const HEADER_LIMITS: Limits = { timeoutMs: 3_000, slowMs: 0, pauseMs: 10_000, pauseMsMax: 10_000 }
/** Logs and traces may take as long as any answer. A provider that refuses some blocks at once is asked about others. */
export const CONTENTS_LIMITS: Limits = {
  timeoutMs: 25_000,
  slowMs: 3_000,
  pauseMs: 30_000,
  pauseMsMax: 120_000,
}

/**
 * A circuit for each provider, for one kind of request. A slow failure opens it, and nothing is requested through it for a
 * pause; the next request closes it again by an answer, or opens it for twice as long.
 */
export class CircuitBreaker<Provider extends object> {
  readonly #limits: Limits
  readonly #open = new Map<Provider, { readonly untilMs: number; readonly pauseMs: number }>()

  constructor(limits: Limits) {
    this.#limits = limits
  }

  isOpen(provider: Provider): boolean {
    return (this.#open.get(provider)?.untilMs ?? 0) > performance.now()
  }

  /** The first answers, so many at most, of providers whose circuits are closed. Null is no answer, and a failure is none. */
  async firstOf<Result>(
    providers: readonly Provider[],
    request: (provider: Provider) => Promise<Result | null> | undefined,
    answersMax: number,
  ): Promise<Result[]> {
    const answers: Result[] = []
    for (const provider of providers) {
      if (this.isOpen(provider) || answers.length >= answersMax) continue
      try {
        const answer = await this.call(provider, Promise.resolve(request(provider) ?? null))
        if (answer !== null) answers.push(answer)
      } catch (error) {
        if (!(error instanceof ChainUnavailable)) throw error
      }
    }
    return answers
  }

  /** The provider's answer. Throws `ChainUnavailable` where it gives none in time. */
  async call<Result>(provider: Provider, answer: Promise<Result>): Promise<Result> {
    const { timeoutMs, slowMs, pauseMs: first, pauseMsMax } = this.#limits
    const beganAt = performance.now()
    try {
      const result = await within(timeoutMs, answer)
      this.#open.delete(provider)
      return result
    } catch (error) {
      if (error instanceof ChainUnavailable && performance.now() - beganAt >= slowMs) {
        const pauseMs = Math.min(pauseMsMax, (this.#open.get(provider)?.pauseMs ?? first / 2) * 2)
        this.#open.set(provider, { untilMs: performance.now() + pauseMs, pauseMs })
      }
      throw error
    }
  }
}
