import type { Log } from '../runtime/log.ts'
import type { StopList } from './stop-list.ts'

/** Longer than the slowest orderly stop: receivers' deadlines, then commits, then the database. */
const STOP_MS_MAX = 40_000
/** Connections that were closed are gone by then. */
const GONE_MS_MAX = 2_000

/**
 * Stops everything, and sees that the process ends: after a stop that failed in part something may go on without its
 * connections, and a watcher that does so keeps the lead from one that works.
 */
export async function stopInTime(everything: StopList, log: Log): Promise<void> {
  const patience = setTimeout(() => {
    log.fatal('stopping took too long: exiting at once')
    process.exit(1)
  }, STOP_MS_MAX)
  await everything.stop()
  clearTimeout(patience)
  const goesOn = setTimeout(() => {
    log.fatal('something keeps running after the stop: exiting at once')
    process.exit(1)
  }, GONE_MS_MAX)
  // Where nothing else does, it keeps nothing alive.
  goesOn.unref()
}
