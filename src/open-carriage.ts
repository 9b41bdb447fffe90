import { encodeEvmAddress } from './chain/evm/address.ts'
import { EvmPayoutCarrier } from './chain/evm/payout-carrier.ts'
import { SolanaRpc } from './chain/solana/solana-rpc.ts'
import { isEsploraUrl } from './chain/utxo/open-provider.ts'
import { PayoutCarrier } from './chain/utxo/payout-carrier.ts'
import { RpcClient } from './chain/utxo/rpc-client.ts'
import {
  type ChainNode,
  type EvmChainNode,
  isEvmNode,
  isSolanaNode,
  isUtxoNode,
  type SolanaChainNode,
  type UtxoNode,
} from './chain-nodes.ts'
import type { Clock } from './clock.ts'
import { evmTokensOf } from './core/chain/evm-parameters.ts'
import type { Pool } from './db/pool.ts'
import type { Log } from './log.ts'
import { EvmCarriage } from './watcher/evm-carriage.ts'
import type { PayoutCarriage } from './watcher/payout-carriage.ts'
import { SolanaCarriage } from './watcher/solana-carriage.ts'
import { UtxoCarriage } from './watcher/utxo-carriage.ts'

export type OpenCarriage = {
  readonly carriage: PayoutCarriage
  /** Ends its connections, and with them the calls that wait for an answer. */
  close(): Promise<void>
}

type Deps = { readonly pool: Pool; readonly clock: Clock; readonly log: Log }

/** Pause between two looks at a public chain while something is on its way. */
const LOOK_EVERY_MS = 5_000
/** What a sandbox chain gives the hot wallet for gas: an ether. */
const TOP_UP = 10n ** 18n
/** While payouts are under way Solana's accounts of the signer are read this often. */
const SOLANA_INTERVAL_MS = 2_000
const SANDBOX_INTERVAL_MS = 500

/** What carries payouts on a node's network; null where nothing can. */
export function openCarriage(node: ChainNode, deps: Deps): OpenCarriage | null {
  if (isUtxoNode(node)) return openUtxoCarriage(node, deps)
  if (isEvmNode(node)) return openEvmCarriage(node, deps)
  return isSolanaNode(node) ? openSolanaCarriage(node, deps) : null
}

function openEvmCarriage(node: EvmChainNode, deps: Deps): OpenCarriage {
  const { network, chain: name, livemode, rpcUrl: url, rpcSetting: setting, sandbox } = node
  const token = evmTokensOf(network, node.usdcContract).find(({ asset }) => asset === 'USDC_BASE') ?? null
  const chain = new EvmPayoutCarrier({ url, setting, chain: name, livemode, token })
  const topUp =
    sandbox === null
      ? null
      : async (address: Uint8Array) => {
          const payment = await sandbox.levers.signPayment('ETH_BASE', encodeEvmAddress(address), TOP_UP)
          await sandbox.levers.send(payment)
        }
  const lookEveryMs = sandbox === null ? LOOK_EVERY_MS : 0
  const carriage = new EvmCarriage({ ...deps, network, chain, token, lookEveryMs, topUp })
  return { carriage, close: () => chain.close() }
}

function openSolanaCarriage(node: SolanaChainNode, deps: Deps): OpenCarriage {
  const first = new SolanaRpc(node.rpcUrl, node.rpcSetting)
  const further = node.furtherUrls.map((url) => new SolanaRpc(url, node.rpcSetting))
  const isSandbox = node.sandbox !== null
  const carriage = new SolanaCarriage({
    ...deps,
    network: node.network,
    rpcs: [first, ...further],
    givesCoins: isSandbox,
    busyIntervalMs: isSandbox ? SANDBOX_INTERVAL_MS : SOLANA_INTERVAL_MS,
  })
  return {
    carriage,
    close: async () => void (await Promise.all([first, ...further].map((rpc) => rpc.close()))),
  }
}

/** Payouts go by the RPC of a node; an Esplora server cannot be asked whether an output is spent. */
function openUtxoCarriage(node: UtxoNode, deps: Deps): OpenCarriage | null {
  const rpcUrl = [node.rpcUrl, ...node.furtherUrls].find((url) => !isEsploraUrl(url))
  if (rpcUrl === undefined) return null
  const rpc = new RpcClient(rpcUrl, node.rpcSetting)
  const chain = new PayoutCarrier(rpc, node.livemode)
  const asset = node.chain === 'bitcoin' ? ('BTC' as const) : ('LTC' as const)
  const carriage = new UtxoCarriage({ ...deps, network: node.network, asset, chain })
  return { carriage, close: () => rpc.close() }
}
