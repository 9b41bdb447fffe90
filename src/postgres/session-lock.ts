import type { Queryable } from './pool.ts'

/** Silence of the client's machine after which the server looks for it, between looks, and how many: 11 s in all. */
const KEEPALIVES = { idle: 5, interval: 2, count: 3 }

/** A session that is to hold a lock was opened on a standby: locks there are its own, and stop nobody on the primary. */
class ReadOnlyServer extends Error {
  override name = 'ReadOnlyServer'
}

/**
 * Makes a session fit to hold a lock for its process: on the primary, and ended by the server soon after our machine is
 * cut off, so that another process gets the lock. Throws `ReadOnlyServer` on a standby.
 */
export async function prepareLockSession(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ in_recovery: boolean }>(
    `select pg_is_in_recovery() as in_recovery, set_config('tcp_keepalives_idle', $1, false),
       set_config('tcp_keepalives_interval', $2, false), set_config('tcp_keepalives_count', $3, false)`,
    [String(KEEPALIVES.idle), String(KEEPALIVES.interval), String(KEEPALIVES.count)],
  )
  if (rows[0]?.in_recovery !== false)
    throw new ReadOnlyServer('this PostgreSQL is a standby, on which nothing can be written')
}

/** Asks the server that holds a session's lock whether it is still there, and still the primary. */
export async function confirmLockSession(db: Queryable): Promise<void> {
  const { rows } = await db.query<{ in_recovery: boolean }>('select pg_is_in_recovery() as in_recovery')
  if (rows[0]?.in_recovery !== false)
    throw new ReadOnlyServer('this PostgreSQL became a standby, on which nothing can be written')
}
