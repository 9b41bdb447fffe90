import type { DatabaseError } from 'pg'
import { openPool, type Pool } from '../postgres/pool.ts'
import { describeError, withoutSecrets } from '../runtime/log.ts'
import { StartRefused } from '../runtime/start-refused.ts'
import { DIRECTORY_MIGRATIONS } from './schema.ts'

/** Starts at the same time queue behind one advisory lock. An arbitrary constant. */
const MIGRATION_LOCK_KEY = 7_295_465_305
const INSUFFICIENT_PRIVILEGE = '42501'
const UNIQUE_VIOLATION = '23505'

/**
 * Runs an operator's work on the directory, with its schema up to date. Throws `StartRefused`, which names the fix, where
 * it cannot be reached, is a cell's own database or the login may not do that.
 */
export async function withDirectory<Result>(
  url: string,
  work: (pool: Pool) => Promise<Result>,
): Promise<Result> {
  const pool = openPool({
    connectionString: url,
    applicationName: 'paylink-command',
    max: 2,
    onError: () => {},
  })
  try {
    await pool.query('select').catch((error: unknown) => {
      throw new StartRefused(
        `DIRECTORY_DATABASE_URL leads to no PostgreSQL that answers: ${withoutSecrets(describeError(error))}`,
      )
    })
    await migrateDirectory(pool)
    return await work(pool)
  } catch (error) {
    if ((error as DatabaseError).code !== INSUFFICIENT_PRIVILEGE) throw error
    throw new StartRefused(
      'the login in DIRECTORY_DATABASE_URL may not do this: give the one that owns the directory’s database',
      { cause: error },
    )
  } finally {
    await pool.end()
  }
}

/** Brings the directory's schema up to date. */
async function migrateDirectory(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ ofCell: boolean }>(
    `select to_regclass('installation') is not null as "ofCell"`,
  )
  if (rows[0]?.ofCell === true)
    throw new StartRefused(
      'DIRECTORY_DATABASE_URL leads to the database of a cell: give the directory a database of its own',
    )
  const from = await versionOfDirectory(pool)
  for (const [index, sql] of DIRECTORY_MIGRATIONS.entries()) {
    if (index < from) continue
    // Without parameters, statements that are sent together are one transaction. Of two starts at once the second one
    // waits, and then does nothing.
    await pool
      .query(
        `select pg_advisory_xact_lock(${MIGRATION_LOCK_KEY});
         create table if not exists directory_migration (version integer primary key, applied_at timestamptz not null default now());
         insert into directory_migration (version) values (${index + 1});
         ${sql}`,
      )
      .catch((error: unknown) => {
        if ((error as DatabaseError).code !== UNIQUE_VIOLATION) throw error
      })
  }
}

/** How many of its migrations it has; 0 for a database that is no directory. */
export async function versionOfDirectory(pool: Pool): Promise<number> {
  const { rows: tables } = await pool.query(`select where to_regclass('directory_migration') is not null`)
  if (tables.length === 0) return 0
  const { rows } = await pool.query<{ version: number }>(
    'select coalesce(max(version), 0) as version from directory_migration',
  )
  return rows[0]?.version ?? 0
}
