import type { PrivateChain } from '../../core/chain/realm.ts'
import { ChainHalted } from '../adapter.ts'

/** Genesis hashes of the public clusters. */
const CLUSTERS: ReadonlyMap<string, { readonly name: string; readonly livemode: boolean }> = new Map([
  ['5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d', { name: 'mainnet-beta', livemode: true }],
  ['EtWTRABZaYq6iMfeYKouRu166VU2xqa1wcaWoxkrZBG', { name: 'devnet', livemode: false }],
  ['4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpk2NsNY', { name: 'testnet', livemode: false }],
])
/** A private cluster. */
export const OWN_CLUSTER = 'localnet'

/** Null where a cluster is not public. */
export const publicClusterOf = (genesisHash: string): string | null => CLUSTERS.get(genesisHash)?.name ?? null

/** The name of the cluster with this genesis. Throws `ChainHalted` where the setting is for another one. */
export function clusterOf(
  genesisHash: string,
  {
    livemode,
    rpcSetting,
    privateChain = null,
  }: {
    readonly livemode: boolean
    readonly rpcSetting: string
    readonly privateChain?: PrivateChain | null
  },
): string {
  const cluster = CLUSTERS.get(genesisHash)
  if (privateChain !== null) {
    if (cluster === undefined && privateChain.genesis === genesisHash) return OWN_CLUSTER
    throw new ChainHalted(
      `${rpcSetting} is for staging and its node is on ${cluster?.name ?? 'another cluster than the one named'} (genesis ${genesisHash}): correct it`,
    )
  }
  if (cluster?.livemode !== undefined && cluster.livemode !== livemode) {
    throw new ChainHalted(
      livemode
        ? `${rpcSetting} is for live money and its node is on ${cluster.name}: point it to a node of mainnet-beta`
        : `${rpcSetting} is for tests and its node is on mainnet-beta: point it to devnet, testnet or a cluster of your own`,
    )
  }
  if (cluster === undefined && livemode) {
    throw new ChainHalted(
      `${rpcSetting} is for live money and its node is of an unknown cluster (genesis ${genesisHash}): correct it`,
    )
  }
  return cluster?.name ?? OWN_CLUSTER
}
