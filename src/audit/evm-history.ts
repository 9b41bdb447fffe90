import { type EvmNode, referenceOf } from '../chain/evm/evm-node.ts'
import type { EvmPayoutClient } from '../payouts/broadcast/evm/evm-payout-client.ts'

/** Blocks in a row without a transaction that are looked across. */
const EMPTY_BLOCKS_MAX = 200

/**
 * Whether a node still finds transactions as old as this moment: nodes drop their index of old ones (geth after about a
 * year). Where no block has one to ask for, it is taken to find them.
 */
export async function findsTransactionsOf(
  node: EvmNode,
  client: EvmPayoutClient,
  at: Date,
): Promise<boolean> {
  const head = await node.headerAt('latest')
  let [below, from] = [-1, head?.number ?? 0]
  while (from - below > 1) {
    const middle = (below + from) >>> 1
    const header = await node.headerAt(middle)
    if (header === null || referenceOf(header).timeMs < at.getTime()) below = middle
    else from = middle
  }
  for (let height = from; height < from + EMPTY_BLOCKS_MAX; height++) {
    const header = await node.headerAt(height)
    if (header === null) return true
    const [txid] = header.transactions
    if (txid !== undefined) return (await client.receiptOf(txid)) !== null
  }
  return true
}
