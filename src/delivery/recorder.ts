import type { Clock } from '../clock.ts'
import type { Pool } from '../db/pool.ts'
import type { FaultLog } from './fault-log.ts'
import { type Outcome, recordOutcomes } from './record-outcomes.ts'

/** Outcomes of one commit. */
const BATCH_MAX = 256
/** Fewer than this, or than half of what may be in flight, wait a moment for company: a commit costs the same for one as for many. */
const BATCH_FULL_ENOUGH = 128
const GATHER_MS = 15
const RETRY_MS_MIN = 50
const RETRY_MS_MAX = 2_000

/** Takes outcomes as they come and records them in batches: whatever gathers while one commit runs goes with the next. */
export type Recorder = {
  record(outcome: Outcome, onCommitted?: () => void): void
  /** Outcomes that are not committed yet. */
  unrecorded(): number
  /** Resolves when everything is recorded, or after `withinMs`; tells whether it was everything. */
  drain(withinMs: number): Promise<boolean>
}

export function createRecorder(deps: {
  pool: Pool
  clock: Clock
  random: () => number
  /** Requests in flight at once. */
  concurrency: number
  faults: FaultLog
  onRecorded: () => void
}): Recorder {
  const enough = Math.min(BATCH_FULL_ENOUGH, deps.concurrency / 2)
  const waiting: { readonly outcome: Outcome; readonly onCommitted: (() => void) | undefined }[] = []
  let writing = 0
  let running: Promise<void> | null = null
  let given: number = Number.POSITIVE_INFINITY

  const run = async (): Promise<void> => {
    let pause = RETRY_MS_MIN
    while (waiting.length > 0 && performance.now() < given) {
      if (waiting.length < enough) await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
      const batch = waiting.splice(0, BATCH_MAX)
      writing = batch.length
      try {
        await recordOutcomes(
          deps,
          batch.map((one) => one.outcome),
        )
        for (const one of batch) one.onCommitted?.()
        deps.faults.recovered()
        pause = RETRY_MS_MIN
      } catch (error) {
        // Nothing of the batch was written. It is tried again for as long as the process lives; should the leases
        // lapse meanwhile, the fence drops it and the events go out again under the same id.
        deps.faults.failed(error)
        waiting.unshift(...batch)
        writing = 0
        await new Promise((resolve) => setTimeout(resolve, pause))
        pause = Math.min(RETRY_MS_MAX, pause * 2)
      }
      writing = 0
      deps.onRecorded()
    }
    running = null
  }

  return {
    record: (outcome, onCommitted) => {
      waiting.push({ outcome, onCommitted })
      running ??= Promise.resolve().then(run)
    },
    unrecorded: () => waiting.length + writing,
    drain: async (withinMs) => {
      given = performance.now() + withinMs
      await running
      return waiting.length === 0
    },
  }
}
