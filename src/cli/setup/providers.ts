import { loadSettings } from '../../config/config.ts'
import { ConfigError, type Environment } from '../../config/config-values.ts'
import type { Chain, Network } from '../../core/assets.ts'
import { evmNetworkOf, forEvmChains } from '../../core/chain/evm-networks.ts'
import { isOutside, openToInspect } from '../../doctor/inspect-networks.ts'
import { configuredNodes, rpcSettingOf } from '../../nodes/chain-nodes.ts'
import { systemClock } from '../../runtime/clock.ts'
import { describeError, withoutSecrets } from '../../runtime/log.ts'

/** Public servers of different operators that need no account, to begin with; empty where two are not known. */
export const PUBLIC_PROVIDERS: { readonly [chain in Chain]: string } = {
  bitcoin: 'esplora+https://blockstream.info/api,esplora+https://mempool.space/api',
  litecoin: '',
  ...forEvmChains((chain) => evmNetworkOf(chain).publicProviders.join(',')),
  solana: 'https://api.mainnet-beta.solana.com,https://solana-rpc.publicnode.com',
}

const SAME_FOR_ALL =
  'Two must agree before anything is paid. One alone can delay payments, or hide them until it is replaced.'
const CONTENTS_PROVED = `What a block holds is proved against its hash. Which chain is the best is the servers' word. ${SAME_FOR_ALL}`
const RECEIPTS_PROVED = `USDC is proved against the block's receipts root, or read from both. Ether is read from both. ${SAME_FOR_ALL}`

/** What is trusted and what is checked where somebody else's servers are used; docs/operating-chains.md has all of it. */
export const PUBLIC_TRUST: { readonly [chain in Chain]: string } = {
  bitcoin: `${CONTENTS_PROVED} Payouts need a node: Esplora servers send none.`,
  litecoin: `${CONTENTS_PROVED} Payouts need a node: Esplora servers send none.`,
  ...forEvmChains(() => RECEIPTS_PROVED),
  solana: `Blocks and balances are the servers' word. ${SAME_FOR_ALL}`,
}

/**
 * What is wrong with a network's URLs, asked one by one; null where each answers for the right chain. `settings` are the
 * others that the start will have.
 */
export async function providersProblem(
  network: Network,
  urls: string,
  settings: Environment,
): Promise<string | null> {
  const setting = rpcSettingOf(network)
  const node = nodeOf(network, { ...settings, [setting]: urls })
  if (typeof node === 'string') return node
  const listed = [node.rpcUrl, ...node.furtherUrls]
  if (shareOperator(listed)) {
    return 'two of these are of one operator, and would be wrong together: take the second from another'
  }
  for (const url of listed) {
    const provider = openToInspect(node, url, systemClock)
    try {
      const { health } = await provider.connect()
      if (health.status !== 'ok' && health.status !== 'syncing') return withoutSecrets(health.reason)
    } catch (error) {
      if (!isOutside(error)) throw error
      return withoutSecrets(describeError(error))
    } finally {
      await provider.close()
    }
  }
  return null
}

function nodeOf(network: Network, settings: Environment) {
  try {
    const node = configuredNodes(loadSettings(settings)).find((each) => each.network === network)
    return node ?? `${network} is followed by no version of Paylink`
  } catch (error) {
    if (error instanceof ConfigError) return error.message
    throw error
  }
}

/** By the last two labels of their names. Addresses are machines of one's own. */
function shareOperator(urls: readonly string[]): boolean {
  const owners = urls
    .map((url) => new URL(url.slice(url.lastIndexOf('+') + 1)).hostname)
    .filter((host) => /\.[a-z]{2,}$/i.test(host))
    .map((host) => host.split('.').slice(-2).join('.'))
  return new Set(owners).size < owners.length
}
