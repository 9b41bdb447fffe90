import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import type { AssetId, Network } from '../../src/core/assets.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { ChainDriver, DrivenChain } from './chain-driver.ts'
import type { NodeChainName } from './daemons.ts'
import { startNode, type TestNode } from './litecoind.ts'
import { utxoLies } from './utxo-lies.ts'

/** A chain whose node is a real daemon. */
export type DrivenNode = DrivenChain & { readonly node: TestNode }

const NAMES: { readonly [chain in NodeChainName]: { title: string; network: Network; asset: AssetId } } = {
  bitcoin: { title: 'Bitcoin on a real node', network: 'bitcoin-test', asset: 'BTC' },
  litecoin: { title: 'Litecoin on a real node', network: 'litecoin-test', asset: 'LTC' },
}

/** Drives a real node of Bitcoin or Litecoin on regtest. */
export function utxoDriver(
  chain: NodeChainName,
  options: Parameters<typeof startNode>[1] = {},
): ChainDriver<DrivenNode> {
  return {
    ...NAMES[chain],
    amount: 10_000_000n,
    seesWaiting: true,
    settlesLater: false,
    start: async () => driveNode(await startNode(chain, options)),
  }
}

/** The name under which an operator configures a chain's test node. */
export const settingOf = (chain: NodeChainName): string => `TEST_${chain.toUpperCase()}_RPC_URL`

export function utxoAdapterOptions(chain: NodeChainName, rpcUrl: string) {
  return {
    chain,
    livemode: false,
    rpcUrl,
    rpcSetting: settingOf(chain),
    zmqUrl: null,
    probeIntervalMs: 50,
  }
}

export function driveNode(node: TestNode): DrivenNode {
  const options = utxoAdapterOptions(node.chain, node.rpcUrl)
  return {
    node,
    url: node.rpcUrl,
    adapter: (rpcUrl = node.rpcUrl) => new UtxoAdapter({ ...options, rpcUrl, clock: systemClock }),
    recipe: { module: 'chain/utxo/utxo-adapter.js', name: 'UtxoAdapter', options },
    tipHash: () => node.rpc('getbestblockhash'),
    newAddress: async () => {
      const address = await node.newAddress()
      return { address, addressBytes: await node.addressBytesOf(address) }
    },
    pay: (address, amount) => node.pay(address, coinsOf(amount), { replaceable: true }),
    replace: async (txid) => {
      await node.spendAgain(txid)
    },
    mine: async (blocks) => {
      await node.mine(blocks)
    },
    reorganise: (depth, waiting) => node.reorganise(depth, waiting === undefined ? 'mined-again' : 'waiting'),
    stop: () => node.stop(),
    startAgain: () => node.start(),
    remove: () => node.remove(),
    lies: utxoLies((method, params) => node.rpc(method, params)),
  }
}

/** Base units as coins, eight decimals. */
export function coinsOf(units: bigint): string {
  const digits = units.toString().padStart(9, '0')
  return `${digits.slice(0, -8)}.${digits.slice(-8)}`
}
