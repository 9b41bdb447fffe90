import type { Clock } from '../runtime/clock.ts'
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

/** How long we wait for one kind of answer, and whom we leave alone since they kept us waiting. */
export class Patience<Provider extends object> {
  readonly #limits: Limits
  readonly #clock: Clock
  readonly #silent = new Map<Provider, { readonly untilMs: number; readonly pauseMs: number }>()

  constructor(limits: Limits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  isSilent(provider: Provider): boolean {
    return (this.#silent.get(provider)?.untilMs ?? 0) > this.#clock().getTime()
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
        this.#silent.set(provider, { untilMs: this.#clock().getTime() + pauseMs, pauseMs })
      }
      throw error
    }
  }
}
