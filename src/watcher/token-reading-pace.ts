import { nextPauseMs } from './finality-round.ts'

/** Blocks whose tokens are read at once, where nothing fails. */
export const TOKEN_BLOCKS_MAX = 50

/** How many blocks' tokens two providers are asked for at once, and after failures why payments wait, and how long. */
export class TokenReadingPace {
  #blocks = TOKEN_BLOCKS_MAX
  #pauseMs = 0
  #retryAtMs = 0
  #waiting: string | null = null

  get blocks(): number {
    return this.#blocks
  }

  get isPaused(): boolean {
    return performance.now() < this.#retryAtMs
  }

  /** Why payments wait; null where none does. */
  get waiting(): string | null {
    return this.#waiting
  }

  succeeded(): void {
    this.#pauseMs = 0
    this.#retryAtMs = 0
    this.#waiting = null
  }

  faster(): void {
    this.#blocks = Math.min(TOKEN_BLOCKS_MAX, this.#blocks * 2)
  }

  failed(reason: string): void {
    // One of them may only have been a moment behind.
    if (this.#pauseMs > 0) this.#waiting = reason
    this.#pauseMs = nextPauseMs(this.#pauseMs)
    this.#retryAtMs = performance.now() + this.#pauseMs
    this.#blocks = Math.max(1, this.#blocks >> 1)
  }
}
