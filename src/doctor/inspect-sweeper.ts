import { encodeEvmAddress } from '../chain/evm/address.ts'
import { EvmNode } from '../chain/evm/evm-node.ts'
import { sweeperOf } from '../chain/evm/sweeper.ts'
import { isSweptByDelegation } from '../core/assets.ts'
import { evmTokensOf } from '../core/chain/evm-parameters.ts'
import { realmOf } from '../core/chain/realm.ts'
import { loadHotWallet } from '../db/addresses/hot-wallets.ts'
import type { EvmChainNode } from '../nodes/chain-nodes.ts'
import { readSweeper } from '../payouts/broadcast/evm/sweeper-state.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Finding, fault, notice, ok } from './finding.ts'

/** Whether deposits of tokens without signatures can be swept on a node's network, where it has such a token. */
export async function inspectSweeper(pool: Pool, node: EvmChainNode): Promise<Finding[]> {
  const { network } = node
  const tokens = evmTokensOf(network, realmOf(node), node.tokenContracts)
  const names = tokens.filter(({ asset }) => isSweptByDelegation(asset)).map(({ asset }) => asset)
  const wallet = await loadHotWallet(pool, network)
  if (names.length === 0 || wallet === null) return []
  const asked = new EvmNode(node.rpcUrl, node.rpcSetting)
  const state = await readSweeper(asked, wallet.address).finally(() => asked.rpc.close())
  const what = `${network}: the sweeper of ${names.join(' and ')}`
  if (state.kind === 'problem') return [fault(`${what}: ${state.problem}; payouts in it fail after a day`)]
  if (state.kind === 'absent') return [notice(`${what} is not there yet; the first payout puts it there`)]
  return [ok(`${what} is at ${encodeEvmAddress(sweeperOf(wallet.address))}`)]
}
