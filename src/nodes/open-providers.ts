import type { ChainAdapter, ChainProvider, ProviderAgreement } from '../chain/adapter.ts'
import { AddressSet } from '../chain/address-set.ts'
import { EvmAdapter } from '../chain/evm/evm-adapter.ts'
import { type NamedProvider, ProviderGroup } from '../chain/provider-group.ts'
import type { OpenOwnersOptions } from '../chain/solana/open-owners.ts'
import { SolanaAdapter } from '../chain/solana/solana-adapter.ts'
import { WatchedOwners } from '../chain/solana/watched-owners.ts'
import { isEsploraUrl, nameProviders, openProvider, providerHost } from '../chain/utxo/open-provider.ts'
import type { Clock } from '../runtime/clock.ts'
import { type ChainNode, isEvmNode, isSolanaNode, isUtxoNode } from './chain-nodes.ts'

/** An Esplora server is asked about each open checkout in each round, and has no notifications. */
const ESPLORA_POLL_INTERVAL_MS = 2_000

/** A new height wakes the watcher; this finds what replaced a block at the same height. */
const EVM_POLL_INTERVAL_MS = 4_000

/** Addresses of open checkouts at a moment of the chain's own time, and of what was paid from this height on. */
type OpenAddresses = (at: Date, fromHeight?: number) => Promise<readonly Uint8Array[]>

type ProviderDeps = {
  readonly clock: Clock
  readonly openAddresses?: OpenAddresses
  /** See `OpenOwnersOptions`, and `SolanaAdapter`. */
  readonly askedTokens?: NonNullable<OpenOwnersOptions['askedTokens']>
  readonly feePayer?: () => Promise<string | null>
}

/** What providers of a network match against: Solana's nodes name owners by text, all others by bytes. */
export const watchedOf = (node: ChainNode): AddressSet | WatchedOwners =>
  isSolanaNode(node) ? new WatchedOwners() : new AddressSet()

/** One provider of a network, whatever its chain. */
export function openProviderOf(
  node: ChainNode,
  provider: {
    readonly url: string
    readonly zmqUrl: string | null
    readonly watched: AddressSet | WatchedOwners
  },
  deps: ProviderDeps,
): ChainProvider {
  const { clock, openAddresses, askedTokens, feePayer } = deps
  const { livemode, privateChain = null, rpcSetting: setting, tokenContracts } = node
  const { url, watched, zmqUrl } = provider
  if (watched instanceof WatchedOwners) {
    const open = {
      ...(openAddresses === undefined ? {} : { openAddresses }),
      ...(askedTokens === undefined ? {} : { askedTokens }),
      ...(feePayer === undefined ? {} : { feePayer }),
    }
    return new SolanaAdapter({
      livemode,
      privateChain,
      rpcUrl: url,
      rpcSetting: setting,
      tokenContracts,
      clock,
      watched,
      ...open,
    })
  }
  if (isEvmNode(node)) {
    const open = openAddresses === undefined ? {} : { openAddresses }
    return new EvmAdapter({
      chain: node.chain,
      livemode,
      privateChain,
      url,
      setting,
      clock,
      watched,
      tokenContracts,
      ...open,
    })
  }
  if (!isUtxoNode(node)) throw new Error(`nothing follows ${node.network}`)
  const open = openAddresses === undefined ? {} : { openAddresses: () => openAddresses(clock()) }
  return openProvider({
    chain: node.chain,
    livemode,
    privateChain,
    url,
    setting,
    zmqUrl,
    clock,
    watched,
    ...open,
  })
}

/** How a network is followed: by its one provider, or by several that must agree. */
export function openProviders(
  node: ChainNode,
  deps: ProviderDeps & { readonly openAddresses: OpenAddresses },
): {
  adapter: ChainAdapter
  agreement?: ProviderAgreement
  pollIntervalMs?: number
  /** In place of the adapter's own way, where the chain itself reports every change. */
  subscribe?: (wake: () => void) => () => void
  /** Host names of the providers that are followed at the moment. */
  readFrom: () => readonly string[]
} {
  const watched = watchedOf(node)
  const urls = [node.rpcUrl, ...node.furtherUrls]
  const nameOf = nameProviders(urls)
  const open = (url: string, zmqUrl: string | null): NamedProvider => ({
    name: nameOf(url),
    chain: openProviderOf(node, { url, zmqUrl, watched }, deps),
  })
  const first = open(node.rpcUrl, node.zmqUrl)
  const poll = pollOf(node)
  const hosts = new Map(urls.map((url) => [nameOf(url), providerHost(url)]))
  const hostOf = (name: string): string[] => [node.sandbox === null ? (hosts.get(name) ?? name) : 'sandbox']
  if (node.furtherUrls.length === 0)
    return { adapter: first.chain, ...poll, ...pushOf(node), readFrom: () => hostOf(first.name) }
  const others = node.furtherUrls.map((url) => open(url, null))
  const group = new ProviderGroup(first, others, deps.clock)
  return { adapter: group, agreement: group, ...poll, readFrom: () => hostOf(group.followedName) }
}

const pushOf = ({ sandbox }: ChainNode) =>
  sandbox === null ? {} : { subscribe: (wake: () => void) => sandbox.subscribe(wake) }

function pollOf(node: ChainNode): { pollIntervalMs?: number } {
  if (isEsploraUrl(node.rpcUrl)) return { pollIntervalMs: ESPLORA_POLL_INTERVAL_MS }
  return isEvmNode(node) && node.sandbox === null ? { pollIntervalMs: EVM_POLL_INTERVAL_MS } : {}
}
