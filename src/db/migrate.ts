import { readdir, readFile } from 'node:fs/promises'
import pg from 'pg'
import { DATABASE_ROLES, ensureGroupRoles, groupRoleOf } from './roles.ts'

const MIGRATIONS = new URL('../../migrations/', import.meta.url)
const FILE_NAME = /^(\d{4})_[a-z0-9_]+\.sql$/
/** Any constant will do: several starts at once queue behind one advisory lock of this database. */
const LOCK_KEY = 7_295_465_301

/**
 * Applies the migrations that this database has not had, in order, each in a transaction of its own. Several
 * callers at once are safe. Returns the names it applied. Errors name the file. With `through` it stops after that
 * version, as an earlier release did.
 */
export async function migrate(ownerUrl: string, through = Number.POSITIVE_INFINITY): Promise<string[]> {
  const files = (await readdir(MIGRATIONS)).filter((name) => FILE_NAME.test(name)).sort()
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'paylink-migrate' })
  await client.connect()
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
      await applyOne(client, name, version)
      done.push(name)
    }
    return done
  } finally {
    await client.end()
  }
}

/** The highest migration this program has. */
export async function latestMigration(): Promise<number> {
  const versions = (await readdir(MIGRATIONS)).flatMap((name) => FILE_NAME.exec(name)?.[1] ?? [])
  return Math.max(0, ...versions.map(Number))
}

async function applyOne(client: pg.Client, name: string, version: number): Promise<void> {
  const sql = await readFile(new URL(name, MIGRATIONS), 'utf8')
  try {
    await client.query('begin')
    await client.query(sql)
    await client.query('insert into schema_migration (version, name) values ($1, $2)', [version, name])
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw new Error(`migration ${name} failed: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
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
