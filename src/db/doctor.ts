import type { Queryable } from '../postgres/pool.ts'

/** What `paylink doctor` asks of the database, with the owner's connection. */
type DoctorFacts = {
  readonly serverVersion: string
  readonly now: Date
  readonly isDurable: boolean
  readonly merchants: number
  readonly accountKeys: number
  /** A signer holds its lock. */
  readonly signerLocked: boolean
  readonly waiting: number
  /** How long the oldest due delivery has been due. */
  readonly overdueSeconds: number
  readonly awaiting: number
}

/** One look at everything; counts of tables of any size are never taken but for merchants and what waits. */
export async function readDoctorFacts(db: Queryable): Promise<DoctorFacts> {
  const { rows } = await db.query<{
    server_version: string
    now: Date
    is_durable: boolean
    merchants: number
    account_keys: number
    signer_locked: boolean
    waiting: number
    overdue_seconds: number
    awaiting: number
  }>(
    `select current_setting('server_version') as server_version, clock_timestamp() as now,
       current_setting('fsync') = 'on' and current_setting('full_page_writes') = 'on' as is_durable,
       (select count(*)::int from merchant) as merchants,
       (select count(*)::int from account_key where xpub is not null) as account_keys,
       exists (select from pg_stat_activity where application_name = 'paylink-signer'
         and datname = current_database()) as signer_locked,
       (select count(*)::int from delivery) as waiting,
       (select coalesce(extract(epoch from clock_timestamp() - min(due_at)), 0)::float from delivery) as overdue_seconds,
       (select count(*)::int from event_awaiting where reason <> 'not_subscribed') as awaiting`,
  )
  const row = rows[0]
  if (row === undefined) throw new Error('the database answered nothing')
  return {
    serverVersion: row.server_version.split(' ')[0] ?? '',
    now: row.now,
    isDurable: row.is_durable,
    merchants: row.merchants,
    accountKeys: row.account_keys,
    signerLocked: row.signer_locked,
    waiting: row.waiting,
    overdueSeconds: row.overdue_seconds,
    awaiting: row.awaiting,
  }
}

/** The server process that answers this connection now. */
export async function readBackendPid(db: Queryable): Promise<number | undefined> {
  const { rows } = await db.query<{ pid: number }>('select pg_backend_pid() as pid')
  return rows[0]?.pid
}
