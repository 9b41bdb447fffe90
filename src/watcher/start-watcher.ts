import { type FollowOptions, followNetwork } from './follow-network.ts'

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
