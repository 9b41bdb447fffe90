import type { BackupConfig } from '../config/config-backup.ts'
import { loadLastBackup } from '../db/backup-runs.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Finding, fault, notice, ok } from './finding.ts'

const HOUR_MS = 3_600_000
/** Without a schedule of our own a week is long. */
const UNSCHEDULED_HOURS_MAX = 7 * 24

/** When the last good backup was, and whether that is too long ago. */
export async function inspectBackup(
  backup: BackupConfig | null,
  pool: Pool,
  clock: Clock,
): Promise<Finding[]> {
  if (backup === null) {
    return [notice('Backups: paylink makes none; set BACKUP_TO, or see to it that something else does')]
  }
  const last = await loadLastBackup(pool)
  if (last === null) return [fault('Backups: none was made yet; run paylink backup')]
  return [newestBackupFinding(backup, last.startedAt, last.place, clock)]
}

/** Whether the newest backup is too old. `place` stands beside its age. */
export function newestBackupFinding(
  { everyHours }: BackupConfig,
  createdAt: Date,
  place: string,
  clock: Clock,
): Finding {
  const hours = (clock().getTime() - createdAt.getTime()) / HOUR_MS
  const said = `the last good one is ${hours.toFixed(1)} hours old (${place})`
  // One may fail, or a machine be off for a night.
  const most = everyHours === null ? UNSCHEDULED_HOURS_MAX : 2 * everyHours + 1
  return hours <= most
    ? ok(`Backups: ${said}`)
    : fault(`Backups: ${said}; run paylink backup, and read the log for why none was made since`)
}
