import { readdir, readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { describeError, withoutSecrets } from '../runtime/log.ts'
import { OWN_LINE } from './pool.ts'
import { DATABASE_ROLES, ensureGroupRoles, groupRoleOf } from './roles.ts'

const MIGRATIONS = new URL('../../migrations/', import.meta.url)
const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/
/** An arbitrary constant: starts at the same time queue behind one advisory lock of this database. */
export const MIGRATION_LOCK_KEY = 7_295_465_301
/**
 * Every later statement waits behind one that waits for a table's lock, so a migration gives up after this long and
 * tries again later.
 */
const TABLE_WAIT_MS = 2_000
/** Meanwhile the statements that waited behind it proceed. */
const PAUSE_MS = 4_000
/** For half an hour: a check of an audit may read a table for ten minutes. */
const MAX_ATTEMPTS = 300
/** SQLSTATE lock_not_available and deadlock_detected. */
const TABLE_IS_HELD = new Set(['55P03', '40P01'])

type MigrateOptions = {
  readonly through?: number
  readonly onWait?: (line: string) => void
  /** What was applied, and how long it took. */
  readonly onApplied?: (name: string, ms: number) => void
  /** Ends it before the next migration, with its reason. */
  readonly stop?: AbortSignal | undefined
}

/**
 * Applies the migrations that this database has not had, in order, each in a transaction of its own. Several
 * callers at once are safe. Returns the names it applied. Errors name the file. With `through` it stops after that
 * version, as an earlier release did. `onWait` gets what it waits for, and how to end that.
 */
export async function migrate(
  ownerUrl: string,
  { through = Number.POSITIVE_INFINITY, onWait, onApplied = () => {}, stop }: MigrateOptions = {},
): Promise<string[]> {
  const files = (await readdir(MIGRATIONS)).filter((name) => FILE_NAME.test(name)).sort()
  const client = new pg.Client({
    connectionString: ownerUrl,
    application_name: 'paylink-migrate',
    ...OWN_LINE,
  })
  await client.connect()
  let stopReporting: (() => Promise<void>) | null = null
  try {
    if (await isUpToDate(client, files, through)) return []
    if (onWait !== undefined) stopReporting = await reportWaitsOf(client, ownerUrl, onWait)
    await client.query('select pg_advisory_lock($1)', [MIGRATION_LOCK_KEY])
    await ensureGroupRoles(client)
    await client.query(`create table if not exists schema_migration (
      version integer primary key, name text not null, applied_at timestamptz not null default now())`)
    // A process that knows only its role's connection string checks the version before it starts.
    await client.query(`grant select on schema_migration to ${DATABASE_ROLES.map(groupRoleOf).join(', ')}`)
    const applied = await loadApplied(client)
    refuseNewerSchema(applied, files)
    const done: string[] = []
    for (const name of files) {
      stop?.throwIfAborted()
      const version = versionOf(name)
      if (applied.has(version) || version > through) continue
      const startedAt = performance.now()
      await applyWhenFree(client, { name, version, stop })
      onApplied(name, performance.now() - startedAt)
      done.push(name)
    }
    return done
  } finally {
    await stopReporting?.()
    await client.end()
  }
}

/**
 * Whether there is nothing to do. A backup has its turn for as long as it reads, hours maybe, and a process that starts
 * again meanwhile, on the release that it ran before, need not wait for that.
 */
async function isUpToDate(client: pg.Client, files: readonly string[], through: number): Promise<boolean> {
  const groups = DATABASE_ROLES.map(groupRoleOf)
  const { rows: found } = await client.query<{ groups: number; known: boolean }>(
    `select (select count(*)::int from pg_roles where rolname = any ($1::text[])) as groups,
       to_regclass('schema_migration') is not null as known`,
    [groups],
  )
  if (found[0]?.groups !== groups.length || !found[0].known) return false
  const { rows: rights } = await client.query<{ right: boolean }>(
    `select bool_and(has_table_privilege(name, 'schema_migration', 'select')
       and not has_schema_privilege(name, 'public', 'create')) as right from unnest($1::text[]) as name`,
    [groups],
  )
  const applied = await loadApplied(client)
  refuseNewerSchema(applied, files)
  return rights[0]?.right === true && files.map(versionOf).every((one) => applied.has(one) || one > through)
}

const versionOf = (name: string): number => Number(name.slice(0, 4))

async function loadApplied(client: pg.Client): Promise<ReadonlySet<number>> {
  const { rows } = await client.query<{ version: number }>('select version from schema_migration')
  return new Set(rows.map((row) => row.version))
}

async function reportWaitsOf(
  client: pg.Client,
  ownerUrl: string,
  onWait: (line: string) => void,
): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return reportLockWaits(ownerUrl, rows[0]?.pid ?? 0, onWait)
}

/** The highest migration this program has. */
export async function latestMigration(): Promise<number> {
  const versions = (await readdir(MIGRATIONS)).flatMap((name) => FILE_NAME.exec(name)?.[1] ?? [])
  return Math.max(0, ...versions.map(Number))
}

/**
 * Applies one migration while the service may be running: it gives up and retries while a table that it needs is in
 * use.
 */
async function applyWhenFree(
  client: pg.Client,
  { name, version, stop }: { name: string; version: number; stop: AbortSignal | undefined },
): Promise<void> {
  const sql = await readFile(new URL(name, MIGRATIONS), 'utf8')
  for (let attempt = 1; ; attempt += 1) {
    const error = await applyOne(client, sql, { name, version })
    if (error === null) return
    if (attempt === MAX_ATTEMPTS || !TABLE_IS_HELD.has(error.code ?? '')) {
      throw new Error(`migration ${name} failed: ${error.message}`, { cause: error })
    }
    await setTimeout(PAUSE_MS, undefined, stop === undefined ? {} : { signal: stop })
  }
}

/** The database's refusal, with nothing of it done; null where it is applied. */
async function applyOne(
  client: pg.Client,
  sql: string,
  { name, version }: { readonly name: string; readonly version: number },
): Promise<pg.DatabaseError | null> {
  try {
    await client.query('begin')
    await client.query(`set local lock_timeout = ${TABLE_WAIT_MS}`)
    await client.query(sql)
    await client.query('insert into schema_migration (version, name) values ($1, $2)', [version, name])
    await client.query('commit')
    return null
  } catch (error) {
    if (!(error instanceof pg.DatabaseError))
      throw new Error(`migration ${name} failed: ${String(error)}`, { cause: error })
    await client.query('rollback')
    return error
  }
}

function refuseNewerSchema(applied: ReadonlySet<number>, files: readonly string[]): void {
  const known = new Set(files.map(versionOf))
  const unknown = [...applied].filter((version) => !known.has(version))
  if (unknown.length > 0) {
    throw new Error(
      `the database has migrations that this version of Paylink does not know (${unknown.join(', ')}): start a newer version`,
    )
  }
}

/** Looked at this often; a wait of so long is reported. Shorter than a migration stands in the queue for a table. */
const LOOK_EVERY_MS = 500
/** The same wait is reported again after this long. */
const AGAIN_MS = 60_000
/** No look takes longer. */
const LOOK_MAX_MS = 5_000

type Wait = {
  /** The table that is held; null where it is no table. */
  readonly table: string | null
  readonly is_turn: boolean
  readonly pid: number
  readonly name: string
}

/**
 * While a connection works, says by a second one what the first waits for: a table, or its turn, with the process of
 * PostgreSQL that holds it. `pid`: the first one's process. What comes back ends it. It only reports: where it cannot look,
 * it says so and the work goes on.
 */
function reportLockWaits(ownerUrl: string, pid: number, onWait: (line: string) => void): () => Promise<void> {
  const reportedAtMs = new Map<string, number>()
  let client: pg.Client | null = null
  let looking: Promise<void> = Promise.resolve()
  let isBusy = false
  const look = async (): Promise<void> => {
    client ??= await connect(ownerUrl)
    for (const wait of await listWaits(client, pid)) {
      const line = describeWait(wait)
      const nowMs = performance.now()
      if (nowMs - (reportedAtMs.get(line) ?? Number.NEGATIVE_INFINITY) < AGAIN_MS) continue
      reportedAtMs.set(line, nowMs)
      onWait(line)
    }
  }
  const timer = setInterval(() => {
    if (isBusy) return
    isBusy = true
    looking = look()
      .catch((error) => {
        clearInterval(timer)
        onWait(`what it may wait for is not known: ${withoutSecrets(describeError(error))}`)
      })
      .finally(() => {
        isBusy = false
      })
  }, LOOK_EVERY_MS)
  return async () => {
    clearInterval(timer)
    await looking
    await client?.end()
  }
}

async function connect(ownerUrl: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: ownerUrl,
    application_name: 'paylink-migrate',
    connectionTimeoutMillis: LOOK_MAX_MS,
    query_timeout: LOOK_MAX_MS,
    ...OWN_LINE,
  })
  // The next look says so.
  client.on('error', () => {})
  await client.connect()
  return client
}

/** Who holds what a process has been waiting for. A handful of rows out of shared memory. */
async function listWaits(client: pg.Client, pid: number): Promise<readonly Wait[]> {
  const { rows } = await client.query<Wait>(
    `select w.relation::regclass::text as table, w.locktype = 'advisory' as is_turn, a.pid, a.application_name as name
     from pg_locks w cross join unnest(pg_blocking_pids(w.pid)) as holder join pg_stat_activity a on a.pid = holder
     where w.pid = $1 and not w.granted and w.waitstart < now() - $2 * interval '1 millisecond'`,
    [pid, LOOK_EVERY_MS],
  )
  return rows
}

function describeWait({ table, is_turn, pid, name }: Wait): string {
  const holder = `process ${pid} of PostgreSQL (${name === '' ? 'which gave no name' : name})`
  if (is_turn) return `waiting for another migration to end: ${holder}`
  const what = table === null ? 'a transaction' : `the table ${table}, which is used`
  return `waiting for ${what} by ${holder}: it goes on when that is done; to end it instead: select pg_terminate_backend(${pid})`
}
