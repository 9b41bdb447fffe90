import type { ChainAdapter, ProviderAgreement } from './chain/adapter.ts'
import { ProgramSet } from './chain/program-set.ts'
import { type NamedProvider, ProviderGroup } from './chain/provider-group.ts'
import { isEsploraUrl, openProvider, providerHost, providerName } from './chain/utxo/open-provider.ts'
import type { ChainNode } from './chain-nodes.ts'
import type { Clock } from './clock.ts'

/** An Esplora server is asked about each open checkout in each round, and has no notifications. */
const ESPLORA_POLL_INTERVAL_MS = 2_000

/** How a network is followed: by its one provider, or by several that must agree. */
export function openProviders(
  node: ChainNode,
  deps: { readonly clock: Clock; readonly openPrograms: () => Promise<readonly Uint8Array[]> },
): {
  adapter: ChainAdapter
  agreement?: ProviderAgreement
  pollIntervalMs?: number
  /** Host names of the providers that are followed at the moment. */
  readFrom: () => readonly string[]
} {
  const watched = new ProgramSet()
  const { chain, livemode, rpcSetting: setting } = node
  const open = (url: string, zmqUrl: string | null): NamedProvider => ({
    name: providerName(url),
    chain: openProvider({ ...deps, chain, livemode, url, setting, zmqUrl, watched }),
  })
  const first = open(node.rpcUrl, node.zmqUrl)
  const poll = isEsploraUrl(node.rpcUrl) ? { pollIntervalMs: ESPLORA_POLL_INTERVAL_MS } : {}
  const hosts = new Map(
    [node.rpcUrl, ...node.furtherUrls].map((url) => [providerName(url), providerHost(url)]),
  )
  const hostOf = (name: string): string[] => [node.sandbox === null ? (hosts.get(name) ?? name) : 'sandbox']
  if (node.furtherUrls.length === 0)
    return { adapter: first.chain, ...poll, readFrom: () => hostOf(first.name) }
  const others = node.furtherUrls.map((url) => open(url, null))
  const group = new ProviderGroup(first, others, deps.clock)
  return { adapter: group, agreement: group, ...poll, readFrom: () => hostOf(group.followedName) }
}
