import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { CHAINS, type Network } from '../core/assets.ts'
import type { Queryable } from '../db/pool.ts'

/** First key of all advisory locks on networks; the second says which. */
const LOCK_SPACE = 0x7061_796c
const RETRY_MS = 1_000
const CONNECT_TIMEOUT_MS = 5_000
const QUERY_TIMEOUT_MS = 10_000

/** The right to follow a network, held by one process at a time. */
export type Lead = {
  /** Aborted when the right is lost: nothing may be committed for the network after that. */
  readonly lost: AbortSignal
  /** The connection that holds the lock: what is written on it, the process wrote that has the lead. */
  readonly connection: Queryable
  release(): Promise<void>
}

/**
 * Waits until this process may follow the network: an advisory lock on a connection of its own, which
 * PostgreSQL gives to the next one when that connection ends. Null where `stop` came first. `onError` is told
 * of each failed attempt.
 */
export async function takeLead(
  connectionString: string,
  network: Network,
  stop: AbortSignal,
  onError: (error: unknown) => void,
): Promise<Lead | null> {
  while (!stop.aborted) {
    try {
      const lead = await attempt(connectionString, network, stop)
      if (lead !== null) return lead
    } catch (error) {
      onError(error)
    }
    await pauseUnless(stop, RETRY_MS)
  }
  return null
}

async function attempt(connectionString: string, network: Network, stop: AbortSignal): Promise<Lead | null> {
  const client = new pg.Client({
    connectionString,
    application_name: `paylink-watcher-${network}`,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
  })
  const lost = new AbortController()
  const lose = () => lost.abort()
  client.on('error', lose)
  client.on('end', lose)
  await client.connect()
  while (!stop.aborted && !lost.signal.aborted) {
    const key = lockKeyOf(network)
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1, $2) as taken', [
      ...key,
    ])
    if (rows[0]?.taken === true)
      return { lost: lost.signal, connection: client, release: () => release(client, key) }
    await pauseUnless(stop, RETRY_MS)
  }
  await client.end()
  return null
}

/** Unlocks by name: the end of a connection takes the server a moment to see. */
async function release(client: pg.Client, key: readonly number[]): Promise<void> {
  try {
    await client.query('select pg_advisory_unlock($1, $2)', [...key])
  } finally {
    await client.end()
  }
}

/** The advisory lock of a network's lead. */
export function lockKeyOf(network: Network): readonly [number, number] {
  const chain = CHAINS.findIndex((name) => network.startsWith(`${name}-`))
  return [LOCK_SPACE, chain * 2 + (network.endsWith('-live') ? 1 : 0)]
}

/** A pause that `stop` ends early. */
export async function pauseUnless(stop: AbortSignal, ms: number): Promise<void> {
  try {
    await pause(ms, undefined, { signal: stop })
  } catch (error) {
    if (!stop.aborted) throw error
  }
}
