import type { Queryable } from '../../postgres/pool.ts'
import type { Tx } from '../../postgres/transaction.ts'

/** An audit that came to its end. */
export type AuditRun = {
  readonly startedAt: Date
  readonly finishedAt: Date
  readonly checks: number
  readonly notChecked: number
  readonly discrepancies: number
}

export type AuditRunReport = Omit<AuditRun, 'startedAt' | 'finishedAt'> & {
  readonly report: readonly {
    readonly name: string
    readonly findings: number
    readonly reason: string | null
  }[]
}

/** Runs of which the report is kept. */
const RUNS_KEPT = 100
/** A run that has not ended after this time never will. */
const RUN_MINUTES_MAX = 60
/** Runs that are looked through for one that is sealed: with the watcher's login somebody can add any number. */
const RUNS_READ_MAX = 1_000
/** How far processes' clocks may differ. A run that seems to begin later than that holds up none. */
const SKEW_MINUTES_MAX = 5

/**
 * Begins a run where none began within `everyMinutes`, or one did and died; false otherwise, or where another process looks at
 * this very moment: of several one begins. `sealed`: a run that ended without a seal does not count. Served by the primary key.
 */
export async function beginAuditRun(
  tx: Tx,
  now: Date,
  { everyMinutes, sealed }: { everyMinutes: number; sealed: boolean },
): Promise<boolean> {
  const { rows } = await tx.query<{ isFirst: boolean }>(
    `select pg_try_advisory_xact_lock(hashtextextended('audit_run', 0)) as "isFirst"`,
  )
  if (rows[0]?.isFirst !== true) return false
  const { rowCount } = await tx.query(
    `insert into audit_run (started_at)
     select $1::timestamptz where not exists (
       select from audit_run where started_at <= $1::timestamptz + make_interval(mins => ${SKEW_MINUTES_MAX})
         and started_at > $1::timestamptz - make_interval(mins =>
         case when finished_at is null then least($2::int, ${RUN_MINUTES_MAX}) else $2::int end)
         and (finished_at is null or seal is not null or not $3))
     on conflict do nothing`,
    [now, everyMinutes, sealed],
  )
  return rowCount === 1
}

/** Begins a run whatever the other rows say. By primary key. */
export async function beginOwnAuditRun(db: Queryable, now: Date): Promise<void> {
  await db.query('insert into audit_run (started_at) values ($1) on conflict do nothing', [now])
}

/** Writes how a run ended, and forgets the oldest ones. By primary key. */
export async function finishAuditRun(
  db: Queryable,
  startedAt: Date,
  finishedAt: Date,
  run: AuditRunReport,
  seal: Buffer | null,
): Promise<void> {
  await db.query(
    `insert into audit_run (started_at, finished_at, checks, not_checked, discrepancies, report, seal)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (started_at) do update set finished_at = excluded.finished_at, checks = excluded.checks,
       not_checked = excluded.not_checked, discrepancies = excluded.discrepancies, report = excluded.report,
       seal = excluded.seal`,
    [startedAt, finishedAt, run.checks, run.notChecked, run.discrepancies, JSON.stringify(run.report), seal],
  )
  await db.query(
    `delete from audit_run where started_at <=
       (select started_at from audit_run order by started_at desc offset ${RUNS_KEPT} limit 1)`,
  )
}

/** The last audits that came to their end, the newest first, each with its seal. Served by the primary key. */
export async function listLastAuditRuns(
  db: Queryable,
): Promise<readonly { readonly run: AuditRun; readonly seal: Buffer | null }[]> {
  const { rows } = await db.query<AuditRun & { seal: Buffer | null }>(
    `select started_at as "startedAt", finished_at as "finishedAt", checks, not_checked as "notChecked", discrepancies, seal
     from audit_run where finished_at is not null order by started_at desc limit ${RUNS_READ_MAX}`,
  )
  return rows.map(({ seal, ...run }) => ({ run, seal }))
}
