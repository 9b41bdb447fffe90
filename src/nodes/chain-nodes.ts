import type { Config } from '../config/config.ts'
import type { Network } from '../core/assets.ts'
import { EVM_CHAINS, type EvmChain, isEvmChain } from '../core/chain/evm-networks.ts'
import { publicTestChainId, type TokenContracts } from '../core/chain/evm-parameters.ts'
import { type PrivateChain, realmOf } from '../core/chain/realm.ts'
import type { UtxoChain } from '../core/chain/utxo-parameters.ts'
import type { ChainIdentity } from '../core/checkout/payment-uri.ts'
import type { ChainIdentities } from '../core/invoice/render.ts'
import type { SandboxControls } from '../sandbox/controls.ts'

/** Bitcoin and the chains derived from it. */
export const UTXO_CHAINS: readonly UtxoChain[] = ['litecoin', 'bitcoin']
/** The chains that this version follows. */
export const FOLLOWED_CHAINS: readonly (UtxoChain | EvmChain | 'solana')[] = [
  ...UTXO_CHAINS,
  ...EVM_CHAINS,
  'solana',
]

/** A sandbox chain, served by this process or another one. */
type NodeSandbox = {
  readonly controls: SandboxControls
  /** EIP-155; absent on chains that have none. */
  readonly chainId?: number
  /** Calls `wake` at each change of the chain; returns how to stop it. */
  subscribe(wake: () => void): () => void
  stop(): Promise<void>
}

/** How a network's node is reached. */
export type ChainNode = {
  readonly network: Network
  readonly chain: UtxoChain | EvmChain | 'solana'
  readonly livemode: boolean
  /** Present where a staging installation has the network on a private chain. */
  readonly privateChain?: PrivateChain | null
  /** The node, or Esplora server (`esplora+https:`), that is followed. Contains credentials. */
  readonly rpcUrl: string
  /** Further providers, which confirm what the first one says and stand in for it. */
  readonly furtherUrls: readonly string[]
  /** The variable that names it, for messages. */
  readonly rpcSetting: string
  readonly zmqUrl: string | null
  /** In test mode and staging: contracts of tokens in the place of the issuers'. */
  readonly tokenContracts: TokenContracts
  /** Present where the network runs on a sandbox chain of ours. */
  readonly sandbox: NodeSandbox | null
}

/** A node of Bitcoin or of a chain derived from it. */
export type UtxoNode = ChainNode & { readonly chain: UtxoChain }
/** A node of an EVM chain. */
export type EvmChainNode = ChainNode & { readonly chain: EvmChain }
export type SolanaChainNode = ChainNode & { readonly chain: 'solana' }

export const isUtxoNode = (node: ChainNode): node is UtxoNode =>
  UTXO_CHAINS.some((chain) => chain === node.chain)

export const isEvmNode = (node: ChainNode): node is EvmChainNode => isEvmChain(node.chain)

export const isSolanaNode = (node: ChainNode): node is SolanaChainNode => node.chain === 'solana'

export const rpcSettingOf = (network: Network): string => {
  const [chain = '', mode = ''] = network.split('-')
  return `${mode}_${chain}_RPC_URL`.toUpperCase()
}

/** The nodes that were configured. */
export function configuredNodes(config: Config): ChainNode[] {
  return FOLLOWED_CHAINS.flatMap((chain) =>
    [true, false].flatMap((livemode): ChainNode[] => {
      const network: Network = `${chain}-${livemode ? 'live' : 'test'}`
      const settings = config.networks[network]
      const [rpcUrl, ...furtherUrls] = settings?.rpcUrls ?? []
      if (settings === undefined || rpcUrl === undefined) return []
      const rpcSetting = rpcSettingOf(network)
      const { zmqUrl, privateChain, tokenContracts } = settings
      const reached = { rpcUrl, furtherUrls, rpcSetting, zmqUrl, sandbox: null }
      return [{ network, chain, livemode, privateChain, tokenContracts, ...reached }]
    }),
  )
}

/** How payment links name the networks that are not live money's. */
export function chainIdentitiesOf(nodes: readonly ChainNode[]): ChainIdentities {
  const identities = new Map<Network, ChainIdentity>()
  for (const node of nodes) {
    if (isUtxoNode(node) || realmOf(node) === 'live') continue
    const { network, tokenContracts, sandbox, privateChain } = node
    const ownId = sandbox?.chainId ?? privateChain?.chainId ?? null
    const chainId = isEvmNode(node) ? (ownId ?? publicTestChainId(node.chain)) : null
    identities.set(network, { chainId, tokenContracts })
  }
  return (network) => identities.get(network)
}
