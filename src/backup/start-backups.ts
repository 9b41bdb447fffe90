import type { Config } from '../config/config.ts'
import { openPool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { keepBackingUp } from './keep-backing-up.ts'
import { openStore } from './open-store.ts'

/** Scheduled backups, in a process that knows the owner's connection; null where none are to be made here. */
export function startBackups(
  { backup, dataDir }: Config,
  settings: { readonly [name: string]: string },
  { ownerUrl, clock, log }: { readonly ownerUrl: string | null; readonly clock: Clock; readonly log: Log },
): { stop(): Promise<void> } | null {
  if (backup === null || backup.everyHours === null || ownerUrl === null) return null
  const { recipients, keep, everyHours } = backup
  const onError = (error: Error) => log.warn({ err: error }, 'a connection of the backups was lost')
  const pool = openPool({ connectionString: ownerUrl, applicationName: 'paylink-backup', max: 1, onError })
  const plan = { ownerUrl, dataDir, settings, store: openStore(backup.target), recipients, keep }
  const kept = keepBackingUp({ pool, plan, everyHours, clock, log })
  return {
    stop: async () => {
      await kept.stop()
      await pool.end()
    },
  }
}
