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

/** Longer than the slowest orderly stop: receivers' deadlines, then commits, then the database. */
const STOP_MS_MAX = 40_000
/** Connections that were closed are gone by then. */
const GONE_MS_MAX = 2_000

/**
 * Stops everything, and sees that the process ends: after a stop that failed in part something may go on without its
 * connections, and a watcher that does so keeps the leadership from one that works.
 */
export async function stopInTime(everything: StopList, log: Log): Promise<void> {
  const timer = setTimeout(() => {
    log.fatal('stopping took too long: exiting at once')
    process.exit(1)
  }, STOP_MS_MAX)
  await everything.stop()
  clearTimeout(timer)
  const goesOn = setTimeout(() => {
    log.fatal('something keeps running after the stop: exiting at once')
    process.exit(1)
  }, GONE_MS_MAX)
  // Where nothing else does, it keeps nothing alive.
  goesOn.unref()
}
