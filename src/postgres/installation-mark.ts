import { StartRefused } from '../runtime/start-refused.ts'
import type { Queryable } from './pool.ts'

/** What an installation is, from its first start on. */
export type Mark = {
  /** Live mode is on private chains. */
  readonly staging: boolean
  /** Its number among installations behind one address. */
  readonly cell: number
}

/**
 * Refuses a database of another kind: in a staging one live mode is on private chains, and neither kind may ever open
 * as the other; and ids made in one cell lead to no other. `name` is how the operator configured it. A database that its
 * owner has not started on yet is of neither kind, and no role may start on it: the owner may be about to mark it.
 */
export async function refuseOtherMark(
  db: Queryable,
  config: Mark,
  name: string,
): Promise<'marked' | 'unmarked'> {
  const { rows: tables } = await db.query<{ known: boolean }>(
    `select to_regclass('installation') is not null as known`,
  )
  if (tables[0]?.known !== true) return 'unmarked'
  // By its name in JSON, since a database of an earlier release has no such column yet.
  const { rows } = await db.query<Mark>(
    `select staging, coalesce((to_jsonb(installation) ->> 'cell')::integer, 0) as cell from installation`,
  )
  const mark = rows[0]
  if (mark === undefined) return 'unmarked'
  if (mark.staging !== config.staging)
    throw new StartRefused(
      mark.staging
        ? `${name} leads to a staging database, whose live mode is on private chains: set STAGING=1, or give another database`
        : `${name} leads to a database that is not for staging, and STAGING is 1: give staging a database of its own`,
    )
  if (mark.cell !== config.cell)
    throw new StartRefused(
      `${name} leads to the database of cell ${mark.cell}: set CELL=${mark.cell}, or give cell ${config.cell} a database of its own`,
    )
  return 'marked'
}

/** Marks a database at the first start on it. Of several first starts at once the first one's mark stays. */
export async function markInstallation(db: Queryable, config: Mark, name: string): Promise<void> {
  await db.query('insert into installation (staging, cell) values ($1, $2) on conflict do nothing', [
    config.staging,
    config.cell,
  ])
  await refuseOtherMark(db, config, name)
}
