import { CHAINS, type Network } from '../core/assets.ts'
import { endWatch } from '../db/chain/network-watch.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Log } from '../runtime/log.ts'
import { pauseUnless } from '../runtime/repeat.ts'
import { type FollowOptions, followNetwork } from './follow-network.ts'
import { lockKeyOf } from './leadership.ts'

const RETRY_MS = 1_000

/**
 * Forgets the watches of networks that this installation once followed and follows no longer: they must not hold back
 * the addresses of others. Done once; a database that is away at the start is asked again until it answers.
 */
export function endWatchOfOthers(options: {
  readonly pool: Pool
  readonly followed: readonly Network[]
  readonly log: Log
}): { stop(): Promise<void> } {
  const stopping = new AbortController()
  const ended = run(options, stopping.signal)
  return {
    stop: async () => {
      stopping.abort()
      await ended
    },
  }
}

async function run(
  { pool, followed, log }: Parameters<typeof endWatchOfOthers>[0],
  stop: AbortSignal,
): Promise<void> {
  while (!stop.aborted) {
    try {
      for (const chain of CHAINS) {
        for (const network of [`${chain}-live`, `${chain}-test`] as const) {
          // If another process follows it, that process leads and nothing happens.
          if (!followed.includes(network)) await endWatch(pool, network, lockKeyOf(network))
        }
      }
      return
    } catch (error) {
      log.warn(
        { err: error },
        'the watches of networks that are no longer followed could not be removed; trying again',
      )
    }
    await pauseUnless(stop, RETRY_MS)
  }
}

export type Watcher = {
  /** Finishes what is being committed, then gives up its leads. */
  stop(): Promise<void>
}

/** Follows several networks at once, independently: a failure on one delays no other. */
export function startWatcher(networks: readonly FollowOptions[]): Watcher {
  const stopping = new AbortController()
  const following = networks.map((options) => followNetwork(options, stopping.signal))
  const ended = Promise.all(following)
  // Kept from being reported as unhandled before `stop` awaits it; each loop reports its own failures.
  ended.catch(() => {})
  return {
    stop: async () => {
      stopping.abort()
      // Closing the connections ends calls that wait for a node's answer.
      await Promise.all(networks.map(({ adapter }) => adapter.close()))
      await ended
    },
  }
}
