import { encodeEvmAddress } from '../../chain/evm/address.ts'
import { SolanaRpc } from '../../chain/solana/solana-rpc.ts'
import { isEsploraUrl, nameProviders } from '../../chain/utxo/open-provider.ts'
import { RpcClient } from '../../chain/utxo/rpc-client.ts'
import { nativeAssetOf } from '../../core/assets.ts'
import { evmTokensOf } from '../../core/chain/evm-parameters.ts'
import { realmOf } from '../../core/chain/realm.ts'
import { solanaMintsOf } from '../../core/chain/solana-mints.ts'
import {
  type ChainNode,
  type EvmChainNode,
  isEvmNode,
  isSolanaNode,
  isUtxoNode,
  type SolanaChainNode,
  type UtxoNode,
} from '../../nodes/chain-nodes.ts'
import type { Pool } from '../../postgres/pool.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import type { Broadcaster } from './broadcaster.ts'
import { EvmBroadcaster } from './evm/evm-broadcaster.ts'
import { EvmPayoutClient } from './evm/evm-payout-client.ts'
import type { OutcomeSealer } from './outcome-sealer.ts'
import { type PayoutProvider, PayoutProviders } from './payout-providers.ts'
import { SolanaBroadcaster } from './solana/solana-broadcaster.ts'
import { isPayoutToken } from './solana/vault-tokens.ts'
import { UtxoBroadcaster } from './utxo/utxo-broadcaster.ts'
import { UtxoPayoutClient } from './utxo/utxo-payout-client.ts'

type OpenBroadcaster = {
  readonly broadcaster: Broadcaster
  /** Ends its connections, and with them the calls that wait for an answer. */
  close(): Promise<void>
}

type Deps = {
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly sealer: OutcomeSealer
}

/** Pause between two looks at a public chain while something is on its way. */
const LOOK_EVERY_MS = 5_000
/** What a sandbox chain gives the hot wallet for gas: an ether. */
const TOP_UP = 10n ** 18n
/** While payouts are under way Solana's accounts of the signer are read this often. */
const SOLANA_INTERVAL_MS = 2_000
const SANDBOX_INTERVAL_MS = 500

/** What carries payouts on a node's network; null where nothing can. */
export function openBroadcaster(node: ChainNode, deps: Deps): OpenBroadcaster | null {
  if (isUtxoNode(node)) return openUtxoBroadcaster(node, deps)
  if (isEvmNode(node)) return openEvmBroadcaster(node, deps)
  return isSolanaNode(node) ? openSolanaBroadcaster(node, deps) : null
}

function openEvmBroadcaster(node: EvmChainNode, deps: Deps): OpenBroadcaster {
  const { network, chain: name, rpcSetting: setting, sandbox } = node
  const realm = realmOf(node)
  const native = nativeAssetOf(name)
  const tokens = evmTokensOf(network, realm, node.tokenContracts)
  const { providers, close } = openEach(
    node,
    deps,
    (url) => new EvmPayoutClient({ url, setting, chain: name, realm, tokens }),
  )
  const topUp =
    sandbox === null
      ? null
      : async (address: Uint8Array) => {
          const payment = await sandbox.controls.signPayment(native, encodeEvmAddress(address), TOP_UP)
          await sandbox.controls.send(payment)
        }
  const lookEveryMs = sandbox === null ? LOOK_EVERY_MS : 0
  return {
    broadcaster: new EvmBroadcaster({ ...deps, network, providers, tokens, lookEveryMs, topUp }),
    close,
  }
}

function openSolanaBroadcaster(node: SolanaChainNode, deps: Deps): OpenBroadcaster {
  const isSandbox = node.sandbox !== null
  const { providers, close } = openEach(node, deps, (url) => new SolanaRpc(url, node.rpcSetting))
  const broadcaster = new SolanaBroadcaster({
    ...deps,
    network: node.network,
    providers,
    tokens: solanaMintsOf(node.network, realmOf(node), node.tokenContracts).filter(isPayoutToken),
    givesCoins: isSandbox,
    busyIntervalMs: isSandbox ? SANDBOX_INTERVAL_MS : SOLANA_INTERVAL_MS,
  })
  return { broadcaster, close }
}

/** Payouts go by the RPC of nodes; an Esplora server cannot be asked whether an output is spent. */
function openUtxoBroadcaster(node: UtxoNode, deps: Deps): OpenBroadcaster | null {
  const urls = [node.rpcUrl, ...node.furtherUrls]
  const [rpcUrl, ...furtherUrls] = urls.filter((url) => !isEsploraUrl(url))
  if (rpcUrl === undefined) return null
  const { providers, close } = openEach(
    { ...node, rpcUrl, furtherUrls },
    deps,
    (url) => new UtxoPayoutClient(new RpcClient(url, node.rpcSetting), realmOf(node)),
    nameProviders(urls),
  )
  const asset = node.chain === 'bitcoin' ? ('BTC' as const) : ('LTC' as const)
  return { broadcaster: new UtxoBroadcaster({ ...deps, network: node.network, asset, providers }), close }
}

/** All providers of a node, each with connections of its own. */
function openEach<Chain extends PayoutProvider & { close(): Promise<void> }>(
  { network, rpcUrl, furtherUrls, sandbox }: ChainNode,
  deps: Deps,
  open: (url: string) => Chain,
  nameOf = nameProviders([rpcUrl, ...furtherUrls]),
) {
  const named = (url: string) => ({
    name: sandbox === null ? nameOf(url) : 'the sandbox chain',
    chain: open(url),
  })
  const [first, ...further] = [named(rpcUrl), ...furtherUrls.map(named)] as const
  return {
    providers: new PayoutProviders<Chain>({ ...deps, network }, [first, ...further]),
    close: async () => void (await Promise.all([first, ...further].map(({ chain }) => chain.close()))),
  }
}
