import { readdir, readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { tellWaiting } from './report-lock-waits.ts'
import { DATABASE_ROLES, ensureGroupRoles, groupRoleOf } from './roles.ts'

const MIGRATIONS = new URL('../../migrations/', import.meta.url)
const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/
/** An arbitrary constant: starts at the same time queue behind one advisory lock of this database. */
const LOCK_KEY = 7_295_465_301
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
}

/**
 * Applies the migrations that this database has not had, in order, each in a transaction of its own. Several
 * callers at once are safe. Returns the names it applied. Errors name the file. With `through` it stops after that
 * version, as an earlier release did. `onWait` is told what it waits for, and how to end that.
 */
export async function migrate(
  ownerUrl: string,
  { through = Number.POSITIVE_INFINITY, onWait }: MigrateOptions = {},
): Promise<string[]> {
  const files = (await readdir(MIGRATIONS)).filter((name) => FILE_NAME.test(name)).sort()
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'paylink-migrate' })
  await client.connect()
  const stopTelling = onWait === undefined ? null : await tellWaitsOf(client, ownerUrl, onWait)
  try {
    await client.query('select pg_advisory_lock($1)', [LOCK_KEY])
    await ensureGroupRoles(client)
    await client.query(`create table if not exists schema_migration (
      version integer primary key, name text not null, applied_at timestamptz not null default now())`)
    // A process that knows only its role's connection string checks the version before it starts.
    await client.query(`grant select on schema_migration to ${DATABASE_ROLES.map(groupRoleOf).join(', ')}`)
    const { rows } = await client.query<{ version: number }>('select version from schema_migration')
    const applied = new Set(rows.map((row) => row.version))
    refuseNewerSchema(applied, files)
    const done: string[] = []
    for (const name of files) {
      const version = Number(name.slice(0, 4))
      if (applied.has(version) || version > through) continue
      await applyWhenFree(client, name, version)
      done.push(name)
    }
    return done
  } finally {
    await stopTelling?.()
    await client.end()
  }
}

async function tellWaitsOf(
  client: pg.Client,
  ownerUrl: string,
  onWait: (line: string) => void,
): Promise<() => Promise<void>> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  return tellWaiting(ownerUrl, rows[0]?.pid ?? 0, onWait)
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
async function applyWhenFree(client: pg.Client, name: string, version: number): Promise<void> {
  const sql = await readFile(new URL(name, MIGRATIONS), 'utf8')
  for (let attempt = 1; ; attempt += 1) {
    const error = await applyOne(client, sql, { name, version })
    if (error === null) return
    if (attempt === MAX_ATTEMPTS || !TABLE_IS_HELD.has(error.code ?? '')) {
      throw new Error(`migration ${name} failed: ${error.message}`, { cause: error })
    }
    await setTimeout(PAUSE_MS)
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
  const known = new Set(files.map((name) => Number(name.slice(0, 4))))
  const unknown = [...applied].filter((version) => !known.has(version))
  if (unknown.length > 0) {
    throw new Error(
      `the database has migrations that this version of Paylink does not know (${unknown.join(', ')}): start a newer version`,
    )
  }
}
