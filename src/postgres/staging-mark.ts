import { StartRefused } from '../runtime/start-refused.ts'
import type { Queryable } from './pool.ts'

/**
 * Refuses a database of the other kind: in a staging one live mode is on private chains, and neither kind may ever open
 * as the other. `name` is how the operator configured it. A database that its owner has not started on yet is of neither
 * kind, and no role may start on it: the owner may be about to mark it as the other one.
 */
export async function refuseOtherKind(
  db: Queryable,
  config: { readonly staging: boolean },
  name: string,
): Promise<'marked' | 'unmarked'> {
  const { rows: tables } = await db.query<{ known: boolean }>(
    `select to_regclass('installation') is not null as known`,
  )
  if (tables[0]?.known !== true) return 'unmarked'
  const { rows } = await db.query<{ staging: boolean }>('select staging from installation')
  const staging = rows[0]?.staging
  if (staging === undefined) return 'unmarked'
  if (staging === config.staging) return 'marked'
  throw new StartRefused(
    staging
      ? `${name} leads to a staging database, whose live mode is on private chains: set STAGING=1, or give another database`
      : `${name} leads to a database that is not for staging, and STAGING is 1: give staging a database of its own`,
  )
}

/** Marks a database at the first start on it. Of several first starts at once the first one's mark stays. */
export async function markKind(
  db: Queryable,
  config: { readonly staging: boolean },
  name: string,
): Promise<void> {
  await db.query('insert into installation (staging) values ($1) on conflict do nothing', [config.staging])
  await refuseOtherKind(db, config, name)
}
