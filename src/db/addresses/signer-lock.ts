import type { Queryable } from '../../postgres/pool.ts'

/** Held by the session of the one active signer. Any constant will do, other than the migrations' own. */
export const SIGNER_LOCK_KEY = 7_295_465_302

/** Whether a signer is active on this database, in any process: every role may read who holds which lock. */
export async function isSignerActive(db: Queryable): Promise<boolean> {
  const { rows } = await db.query<{ active: boolean }>(
    `select exists (select from pg_locks
       where locktype = 'advisory' and granted and objsubid = 1
         and database = (select oid from pg_database where datname = current_database())
         and (classid::bigint << 32) + objid::bigint = $1::bigint) as active`,
    [SIGNER_LOCK_KEY],
  )
  return rows[0]?.active === true
}
