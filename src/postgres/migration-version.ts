import type { Queryable } from './pool.ts'

/** The newest migration that the database has had; every role may ask. A table of some dozen rows. */
export async function readMigrationVersion(db: Queryable): Promise<number> {
  const { rows } = await db.query<{ version: number | null }>(
    'select max(version) as version from schema_migration',
  )
  return rows[0]?.version ?? 0
}
