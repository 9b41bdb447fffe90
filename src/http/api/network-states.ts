import type { Network } from '../../core/assets.ts'
import type { ChainIdentities, NetworkFacts } from '../../core/invoice/render.ts'
import { loadNetworkStates, type NetworkState } from '../../db/chain/network-state.ts'
import type { Pool } from '../../postgres/pool.ts'
import { createShortCache } from './short-cache.ts'

/** The state of all networks, less than a second old. */
export type NetworkView = {
  stateOf(network: Network): NetworkState | null
  readonly networkFacts: NetworkFacts
}

/** What the watchers last recorded of every network, read by the API and the checkout at most twice a second. */
export type NetworkStates = { read(): Promise<NetworkView> }

export function createNetworkStates(
  pool: Pool,
  elapsedMs: () => number = () => performance.now(),
  identityOf?: ChainIdentities,
): NetworkStates {
  const views = createShortCache<NetworkView>({
    load: async () => viewOf(await loadNetworkStates(pool), identityOf),
    keep: () => true,
    elapsedMs,
  })
  return { read: () => views.get('all') }
}

function viewOf(states: readonly NetworkState[], identityOf: ChainIdentities | undefined): NetworkView {
  const byNetwork = new Map(states.map((state) => [state.network, state]))
  const stateOf = (network: Network) => byNetwork.get(network) ?? null
  const heightOf = (network: Network) => stateOf(network)?.tipHeight ?? null
  return { stateOf, networkFacts: { tipHeightOf: heightOf, identityOf } }
}
