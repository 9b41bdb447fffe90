import { formatCoinAmount } from '../../src/core/money.ts'
import type { TestNode } from './litecoind.ts'
import type { MoneyChain } from './payout-world.ts'

/** A real node's own wallet and blocks, for a world of payouts. */
export const moneyOf = (node: TestNode, chain: MoneyChain['chain']): MoneyChain => ({
  chain,
  rpcUrl: node.rpcUrl,
  pay: async (address, amount) => {
    const txid = await node.pay(address, formatCoinAmount(amount, 8))
    return { txid, hex: await node.rpc<string>('getrawtransaction', [txid]) }
  },
  mine: (blocks) => node.mine(blocks),
})
