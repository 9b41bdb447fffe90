import type { Queryable } from '../postgres/pool.ts'
import type { Tx } from '../postgres/transaction.ts'

type BackupRun = {
  readonly startedAt: Date
  readonly place: string
  readonly bytes: number
}

const RUNS_KEPT = 100
/** A run that failed is tried again after this long. */
const RETRY_MINUTES = 60
/** A run that has not ended after this long never will. */
const RUN_HOURS_MAX = 24

/** Whether a scheduled backup begins now: of several processes one does. Served by the primary key. */
export async function beginDueBackup(tx: Tx, now: Date, everyHours: number): Promise<boolean> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('backup_run', 0))`)
  const { rowCount } = await tx.query(
    `insert into backup_run (started_at)
     select $1::timestamptz where not exists (
       select from backup_run where started_at <= $1::timestamptz and started_at > $1::timestamptz - case
         when finished_at is null then make_interval(hours => ${RUN_HOURS_MAX})
         when error is null then make_interval(hours => $2::int)
         else make_interval(mins => ${RETRY_MINUTES}) end)
     on conflict do nothing`,
    [now, everyHours],
  )
  return rowCount === 1
}

/** Writes how a backup ended, and forgets the oldest ones. By primary key. */
export async function finishBackupRun(
  db: Queryable,
  startedAt: Date,
  finishedAt: Date,
  outcome: { readonly place: string; readonly bytes: number } | { readonly error: string },
): Promise<void> {
  const { place, bytes, error } = { place: null, bytes: null, error: null, ...outcome }
  await db.query(
    `insert into backup_run (started_at, finished_at, place, bytes, error) values ($1, $2, $3, $4, $5)
     on conflict (started_at) do update set finished_at = excluded.finished_at, place = excluded.place,
       bytes = excluded.bytes, error = excluded.error`,
    [startedAt, finishedAt, place, bytes, error],
  )
  await db.query(
    `delete from backup_run where started_at <=
       (select started_at from backup_run order by started_at desc offset ${RUNS_KEPT} limit 1)`,
  )
}

/** The last backup that came to its end; null where none did. Served by the primary key. */
export async function loadLastBackup(db: Queryable): Promise<BackupRun | null> {
  const { rows } = await db.query<BackupRun>(
    `select started_at as "startedAt", place, bytes from backup_run
     where finished_at is not null and error is null order by started_at desc limit 1`,
  )
  return rows[0] ?? null
}
