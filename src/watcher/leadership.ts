import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { CHAINS, type Network } from '../core/assets.ts'
import { type Queryable, SESSION_OPTIONS } from '../postgres/pool.ts'
import { confirmLockSession } from '../postgres/session-lock.ts'
import type { Pause } from '../runtime/activity.ts'
import { pauseUnless } from '../runtime/repeat.ts'

/** First key of all advisory locks on networks; the second says which. */
const LOCK_SPACE = 0x7061_796c
const RETRY_MS = 1_000
const CONNECT_TIMEOUT_MS = 5_000
/** An answer that takes longer counts as none, and leadership is given up. */
const QUERY_TIMEOUT_MS = 5_000
/**
 * How often the server is asked whether the lock is still ours: a connection that was cut off does not say so by
 * itself. A process that lost leadership without knowing it commits nothing: each commit checks its term.
 */
const CONFIRM_INTERVAL_MS = 2_000
const KEEP_ALIVE_DELAY_MS = 5_000

/** The right to follow a network, held by one process at a time. */
export type Leadership = {
  /** Names this term of leadership: the database knows which is the network's latest (`beginWatch`). */
  readonly term: string
  /** Aborted when the leadership is lost: nothing may be committed for the network after that. */
  readonly lost: AbortSignal
  /** The connection that holds the lock: whatever is written on it was written by the process that leads. */
  readonly connection: Queryable
  release(): Promise<void>
}

/**
 * Waits until this process may follow the network: an advisory lock on its own connection, which PostgreSQL passes on
 * when that connection ends. Null if `stop` came first. `onError` is called for each failed attempt.
 */
export async function takeLeadership(
  connectionString: string,
  network: Network,
  stop: AbortSignal,
  onError: (error: unknown) => void,
  pause: Pause = pauseUnless,
): Promise<Leadership | null> {
  while (!stop.aborted) {
    try {
      const leadership = await attempt(connectionString, network, stop, pause)
      if (leadership !== null) return leadership
    } catch (error) {
      onError(error)
    }
    await pauseUnless(stop, RETRY_MS)
  }
  return null
}

async function attempt(
  connectionString: string,
  network: Network,
  stop: AbortSignal,
  pause: Pause,
): Promise<Leadership | null> {
  const client = new pg.Client({
    connectionString,
    application_name: `paylink-watcher-${network}`,
    options: SESSION_OPTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_DELAY_MS,
  })
  const lost = new AbortController()
  const lose = () => lost.abort()
  client.on('error', lose)
  client.on('end', lose)
  try {
    await client.connect()
    return await waitForLock({ client, network, stop, lost, pause })
  } catch (error) {
    lost.abort()
    throw error
  } finally {
    // A connection without leadership is useless, and one that was cut off never ends in an orderly way.
    if (lost.signal.aborted) client.connection.stream.destroy()
  }
}

async function waitForLock(parts: {
  client: pg.Client
  network: Network
  stop: AbortSignal
  lost: AbortController
  pause: Pause
}): Promise<Leadership | null> {
  const { client, network, stop, lost, pause } = parts
  await confirmLockSession(client)
  while (!stop.aborted && !lost.signal.aborted) {
    const key = lockKeyOf(network)
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1, $2) as taken', [
      ...key,
    ])
    if (rows[0]?.taken === true) {
      const ended = keepConfirming(client, lost, pause)
      const free = async () => {
        await release(client, key, lost)
        await ended
      }
      return { term: randomUUID(), lost: lost.signal, connection: client, release: free }
    }
    await pauseUnless(stop, RETRY_MS)
  }
  if (!lost.signal.aborted) await client.end()
  return null
}

/** Gives leadership up as soon as the server that gave it no longer answers. */
async function keepConfirming(client: pg.Client, lost: AbortController, pause: Pause): Promise<void> {
  while (!lost.signal.aborted) {
    await pause(lost.signal, CONFIRM_INTERVAL_MS)
    if (lost.signal.aborted) return
    try {
      await confirmLockSession(client)
    } catch {
      // Whatever the reason, we no longer know who holds the lock. The next attempt reports what is wrong.
      lost.abort()
      client.connection.stream.destroy()
    }
  }
}

/** Unlocks explicitly, because the server takes a moment to notice the end of a connection. */
async function release(client: pg.Client, key: readonly number[], lost: AbortController): Promise<void> {
  if (lost.signal.aborted) return
  try {
    await client.query('select pg_advisory_unlock($1, $2)', [...key])
    await client.end()
  } finally {
    lost.abort()
    client.connection.stream.destroy()
  }
}

/** The advisory lock of a network's leader. */
export function lockKeyOf(network: Network): readonly [number, number] {
  const chain = CHAINS.findIndex((name) => network.startsWith(`${name}-`))
  return [LOCK_SPACE, chain * 2 + (network.endsWith('-live') ? 1 : 0)]
}
