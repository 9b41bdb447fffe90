import { isEsploraUrl } from './chain/utxo/open-provider.ts'
import { PayoutCarrier } from './chain/utxo/payout-carrier.ts'
import { RpcClient } from './chain/utxo/rpc-client.ts'
import { type ChainNode, isUtxoNode, type UtxoNode } from './chain-nodes.ts'
import type { Clock } from './clock.ts'
import type { Pool } from './db/pool.ts'
import type { PayoutCarriage } from './watcher/payout-carriage.ts'
import { UtxoCarriage } from './watcher/utxo-carriage.ts'

export type OpenCarriage = {
  readonly carriage: PayoutCarriage
  /** Ends its connections, and with them the calls that wait for an answer. */
  close(): Promise<void>
}

type Deps = { readonly pool: Pool; readonly clock: Clock }

/** What carries payouts on a node's network; null where nothing can. */
export function openCarriage(node: ChainNode, deps: Deps): OpenCarriage | null {
  return isUtxoNode(node) ? openUtxoCarriage(node, deps) : null
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
