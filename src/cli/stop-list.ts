import type { Log } from '../runtime/log.ts'

type Entry = { readonly name: string; readonly stop: () => Promise<void> }

/** What has to be stopped, in the opposite order of its start; one that fails keeps none of the others from it. */
export class StopList {
  readonly #log: Log
  readonly #entries: Entry[] = []
  #stopped: Promise<void> | null = null

  constructor(log: Log) {
    this.#log = log
  }

  add(name: string, stop: () => Promise<void>): void {
    this.#entries.push({ name, stop })
  }

  /** Stops everything once, however often it is called. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopAll()
    return this.#stopped
  }

  async #stopAll(): Promise<void> {
    for (const { name, stop } of this.#entries.reverse()) {
      try {
        await stop()
        this.#log.debug(`stopped ${name}`)
      } catch (error) {
        this.#log.error({ err: error }, `${name} did not stop cleanly`)
      }
    }
  }
}
