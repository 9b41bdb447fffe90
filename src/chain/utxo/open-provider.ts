import type { PrivateChain } from '../../core/chain/realm.ts'
import type { UtxoChain } from '../../core/chain/utxo-parameters.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ChainProvider } from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import type { BlockSource } from './block-source.ts'
import { EsploraAdapter } from './esplora-adapter.ts'
import { EsploraChain } from './esplora-chain.ts'
import { ESPLORA_SCHEME, EsploraClient } from './esplora-client.ts'
import { NodeChain } from './node-chain.ts'
import { type EsploraNetwork, recognizeGenesis } from './require-realm.ts'
import { RpcClient } from './rpc-client.ts'
import { UtxoAdapter } from './utxo-adapter.ts'

export const isEsploraUrl = (url: string): boolean => url.startsWith(ESPLORA_SCHEME)

/**
 * How messages name a network's providers: by host and port, since their URLs hold credentials, and several of one host, such
 * as a reader's, by their places in the setting, too.
 */
export function nameProviders(urls: readonly string[]): (url: string) => string {
  return (url) => {
    const name = hostName(url)
    const isAlone = urls.filter((other) => hostName(other) === name).length < 2
    return isAlone ? name : `${name} (URL ${urls.indexOf(url) + 1})`
  }
}

const hostName = (url: string): string =>
  isEsploraUrl(url) ? `Esplora ${new URL(url).host}` : new URL(url).host

/** Only the host name: what buyers and merchants see of where a chain was read. */
export const providerHost = (url: string): string => new URL(url.slice(url.lastIndexOf('+') + 1)).hostname

/** A provider of Bitcoin or a similar chain: a node's RPC, or an Esplora server. */
export function openProvider(options: {
  readonly chain: UtxoChain
  readonly livemode: boolean
  readonly privateChain: PrivateChain | null
  readonly url: string
  /** The name under which the operator configured `url`. */
  readonly setting: string
  readonly zmqUrl: string | null
  readonly clock: Clock
  readonly watched: AddressSet
  readonly openAddresses?: () => Promise<readonly Uint8Array[]>
}): ChainProvider {
  const { url, setting, openAddresses, ...shared } = options
  if (!isEsploraUrl(url)) return new UtxoAdapter({ ...shared, rpcUrl: url, rpcSetting: setting })
  return new EsploraAdapter({
    ...shared,
    url,
    setting,
    ...(openAddresses === undefined ? {} : { openAddresses }),
  })
}

/** Only the blocks of a network's first provider, matched against `watched`. */
export function openBlocks(
  node: Omit<EsploraNetwork, 'setting'> & { readonly rpcUrl: string; readonly rpcSetting: string },
  watched: AddressSet,
): { readonly blocks: BlockSource; close(): Promise<void> } {
  const { rpcUrl: url, rpcSetting: setting } = node
  if (isEsploraUrl(url)) {
    const client = new EsploraClient(url, setting)
    const recognize = (genesisHash: string) => recognizeGenesis({ ...node, setting }, genesisHash)
    return { blocks: new EsploraChain(client, watched, recognize), close: () => client.close() }
  }
  const rpc = new RpcClient(url, setting)
  return { blocks: new NodeChain(rpc, watched), close: () => rpc.close() }
}
