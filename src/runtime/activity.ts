import { createAutoResetEvent } from './auto-reset-event.ts'
import { pauseUnless } from './repeat.ts'

/** After something happened, everything keeps its own pace for so long. */
const ACTIVE_MS = 15_000
/** While nothing happens the database is looked at this often: a notification that is lost delays work by no more. */
const REST_MS = 30_000

/**
 * Whether anything happens in this installation. Background loops pause by it: at their own pace while something does,
 * and at rest until something does, so that waiting costs nothing.
 */
export class Activity {
  readonly restMs: number
  readonly #activeMs: number
  #stirredAtMs = performance.now()
  #isDeaf = false
  readonly #resting = new Set<() => void>()

  /** Times other than those of production, for tests. */
  constructor({ activeMs = ACTIVE_MS, restMs = REST_MS } = {}) {
    this.#activeMs = activeMs
    this.restMs = restMs
  }

  get isResting(): boolean {
    return !this.#isDeaf && performance.now() - this.#stirredAtMs >= this.#activeMs
  }

  /** Something happened here or in another process: who rests goes on at once. */
  readonly stir = (): void => {
    const wasResting = this.isResting
    this.#stirredAtMs = performance.now()
    if (wasResting) for (const wake of [...this.#resting]) wake()
  }

  /** Notifications no longer arrive: nobody rests until they do. */
  readonly deafen = (): void => {
    this.stir()
    this.#isDeaf = true
  }

  /** Notifications arrive from now on. What was notified before was missed, which counts as one. */
  readonly hear = (): void => {
    this.#isDeaf = false
    this.stir()
  }

  /** Calls `wake` each time that a rest ends; returns how to stop it. */
  onStir(wake: () => void): () => void {
    this.#resting.add(wake)
    return () => this.#resting.delete(wake)
  }

  /** A pause of `ms`, and at rest until something happens or the rest is over. `stop` ends it early. */
  readonly pause = async (stop: AbortSignal, ms: number): Promise<void> => {
    const wake = createAutoResetEvent()
    const forget = this.onStir(wake.signal)
    try {
      await pauseUnless(stop, ms)
      if (this.isResting && ms < this.restMs) await wake.wait(this.restMs - ms, stop)
    } finally {
      forget()
    }
  }
}

/** What a loop pauses by: `Activity.pause`, or `pauseUnless` to keep its own pace always. */
export type Pause = (stop: AbortSignal, ms: number) => Promise<void>
