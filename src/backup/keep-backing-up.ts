import type { Config } from '../config/config.ts'
import { beginDueBackup, finishBackupRun } from '../db/backup-runs.ts'
import { readMigrationVersion } from '../postgres/migration-version.ts'
import { openPool, type Pool } from '../postgres/pool.ts'
import { withSystemTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { describeError, type Log, withoutSecrets } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'
import { type BackupPlan, type CreatedBackup, createBackup } from './create-backup.ts'
import { openStore } from './open-store.ts'

/** How often it looks whether it is time. */
const LOOK_INTERVAL_MS = 60_000

type KeptBackupDeps = {
  /** The owner's. */
  readonly pool: Pool
  readonly plan: Omit<BackupPlan, 'createdAt'>
  readonly everyHours: number
  readonly clock: Clock
  readonly log: Pick<Log, 'error' | 'warn' | 'info'>
}

/** The migration that made the table of backups: a database before it is backed up, and not written to. */
const RECORDED_FROM = 431

/** Makes a backup, and writes down how it ended. */
export async function recordBackup(
  pool: Pool,
  clock: Clock,
  plan: Omit<BackupPlan, 'createdAt'>,
  createdAt = clock(),
): Promise<CreatedBackup> {
  const records = (await readMigrationVersion(pool)) >= RECORDED_FROM
  try {
    const made = await createBackup({ ...plan, createdAt })
    const place = `${plan.store.description}/${made.name}`
    if (records) await finishBackupRun(pool, createdAt, clock(), { place, bytes: made.bytes })
    return made
  } catch (error) {
    const reason = withoutSecrets(describeError(error))
    if (records) await finishBackupRun(pool, createdAt, clock(), { error: reason })
    throw error
  }
}

/** Backs up where it is time; null where it is not, or another process does. */
export async function backUpWhenDue(
  { pool, plan, everyHours, clock, log }: KeptBackupDeps,
  stop: AbortSignal = new AbortController().signal,
): Promise<CreatedBackup | null> {
  const now = clock()
  if (!(await withSystemTransaction(pool, (tx) => beginDueBackup(tx, now, everyHours)))) return null
  const made = await recordBackup(pool, clock, { ...plan, stop }, now)
  const { name, bytes } = made
  log.info({ name, bytes, to: plan.store.description }, 'backed up')
  if (!made.hasSigner) log.warn({ name }, NO_SIGNER)
  return made
}

export const NO_SIGNER =
  'the backup has no seed, for DATA_DIR has no signer folder: back that folder up where the signer runs'

/** Does so until it is stopped. */
const keepBackingUp = (deps: KeptBackupDeps): { stop(): Promise<void> } =>
  repeat((stop) => backUpWhenDue(deps, stop), {
    everyMs: LOOK_INTERVAL_MS,
    firstMs: LOOK_INTERVAL_MS,
    onError: (error) => deps.log.error({ err: error }, 'the backup failed; it is tried again in an hour'),
  })

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
