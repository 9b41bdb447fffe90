import type { Queryable } from './pool.ts'

/** A session that is to hold a lock is on a standby: locks there are its own, and stop nobody on the primary. */
class ReadOnlyServer extends Error {
  override name = 'ReadOnlyServer'
}

/** Asks the server that gives or holds a session's lock whether it is there, and the primary. */
export async function confirmLockSession(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ in_recovery: boolean }>('select pg_is_in_recovery() as in_recovery')
  if (rows[0]?.in_recovery !== false)
    throw new ReadOnlyServer('this PostgreSQL is a standby, on which nothing can be written')
}
