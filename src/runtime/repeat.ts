import { setTimeout as pause } from 'node:timers/promises'

/** A pause that `stop` ends early. */
export async function pauseUnless(stop: AbortSignal, ms: number): Promise<void> {
  try {
    await pause(ms, undefined, { signal: stop })
  } catch (error) {
    if (!stop.aborted) throw error
  }
}

/**
 * Runs `work`, first after `firstMs` and then with a pause of `everyMs` between two runs, until stopped. A run that
 * fails is reported to `onError`, unless it failed because of the stop; `stop` waits for the run that is under way.
 */
export function repeat(
  work: (stop: AbortSignal) => Promise<unknown>,
  options: {
    readonly everyMs: number
    readonly firstMs?: number
    readonly onError: (error: unknown) => void
    /** How it pauses between two runs. */
    readonly pause?: (stop: AbortSignal, ms: number) => Promise<void>
  },
): { stop(): Promise<void> } {
  const { everyMs, firstMs = 0, onError, pause: rest = pauseUnless } = options
  const stopping = new AbortController()
  const stop = stopping.signal
  const run = async (): Promise<void> => {
    if (firstMs > 0) await pauseUnless(stop, firstMs)
    while (!stop.aborted) {
      try {
        await work(stop)
      } catch (error) {
        if (!stop.aborted) onError(error)
      }
      await rest(stop, everyMs)
    }
  }
  const ended = run()
  return {
    stop: async () => {
      stopping.abort()
      await ended
    },
  }
}
