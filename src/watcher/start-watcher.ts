import { type FollowOptions, followNetwork } from './follow-network.ts'

export type Watcher = {
  /** Ends after what is being committed; leads are given up. */
  stop(): Promise<void>
}

/** Follows several networks at once, each by itself: what fails on one delays no other. */
export function startWatcher(networks: readonly FollowOptions[]): Watcher {
  const stopping = new AbortController()
  const following = networks.map((options) => followNetwork(options, stopping.signal))
  const ended = Promise.all(following)
  // Kept from being reported as unhandled before `stop` awaits it; each loop reports its own failures.
  ended.catch(() => {})
  return {
    stop: async () => {
      stopping.abort()
      // Calls that wait for a node's answer end with the connections.
      await Promise.all(networks.map(({ adapter }) => adapter.close()))
      await ended
    },
  }
}
