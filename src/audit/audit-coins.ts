import { ChainUnavailable } from '../chain/adapter.ts'
import { isEsploraUrl } from '../chain/utxo/open-provider.ts'
import { RpcClient } from '../chain/utxo/rpc-client.ts'
import { realmOf } from '../core/chain/realm.ts'
import type { BookedCoin, Finding } from '../db/ledger/audit.ts'
import type { ChainNode } from '../nodes/chain-nodes.ts'
import { isUtxoNode } from '../nodes/chain-nodes.ts'
import { type Output, UtxoPayoutClient } from '../payouts/broadcast/utxo/utxo-payout-client.ts'
import type { ChainRecord } from './audit-chain.ts'
import type { ChainAudit } from './chain-audit.ts'
import { closeAtStop } from './close-at-stop.ts'

/** The newest blocks in which a payout that is not final yet is looked for. */
const BLOCKS_SOUGHT = 500

/**
 * The coins that the books say a merchant has, and those that its confirmed payouts spent, against the chain's own set of
 * unspent outputs, and what each pays to whom; one may also have been spent by a payout of its own that is not final. `stillBooked` gives what the books say now: a coin that was paid out, or taken back by the chain,
 * meanwhile is no discrepancy.
 */
export async function auditCoins(
  node: ChainNode,
  { coins, spent }: Pick<ChainRecord, 'coins' | 'spent'>,
  stillBooked: () => Promise<readonly BookedCoin[]>,
  stop: AbortSignal,
): Promise<ChainAudit> {
  const url = isUtxoNode(node)
    ? [node.rpcUrl, ...node.furtherUrls].find((one) => !isEsploraUrl(one))
    : undefined
  if (url === undefined)
    return { kind: 'not_checked', reason: 'no node is connected that knows what is unspent' }
  const rpc = new RpcClient(url, node.rpcSetting)
  const close = closeAtStop(rpc, stop)
  try {
    const client = new UtxoPayoutClient(rpc, realmOf(node))
    const wrong = new Map<BookedCoin, string>()
    const missing: BookedCoin[] = []
    for (const coin of coins) {
      const output = await client.unspent(coin)
      if (output === null) missing.push(coin)
      else if (!isSameOutput(coin, output))
        wrong.set(coin, `the output pays ${output.amount} to ${output.script}`)
    }
    for (const coin of await notJustSpent(client, missing)) wrong.set(coin, 'no unspent output on the chain')
    const booked = wrong.size === 0 ? new Set() : new Set((await stillBooked()).map(nameOf))
    const findings = [...wrong]
      .filter(([coin]) => booked.has(nameOf(coin)))
      .map(
        ([coin, found]): Finding => ({
          merchantId: coin.merchantId,
          subject: `${node.network} ${nameOf(coin)}`,
          detail: `${coin.amount} stand in the books, and ${found}`,
        }),
      )
    for (const { merchantId, txid, outputIndex, payoutId } of spent) {
      if (!(await client.isUnspent(txid, outputIndex))) continue
      const detail = `is confirmed, and the chain still has ${txid}:${outputIndex}, which it spends`
      findings.push({ merchantId, subject: payoutId, detail })
    }
    return { kind: 'checked', blocksRead: 0, findings }
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error
    return { kind: 'not_checked', reason: error.message }
  } finally {
    await close()
  }
}

/** Those that no signed payout has spent in the newest blocks. */
async function notJustSpent(
  client: UtxoPayoutClient,
  missing: readonly BookedCoin[],
): Promise<readonly BookedCoin[]> {
  const txids = [...new Set(missing.flatMap(({ spentBy }) => spentBy))]
  if (txids.length === 0) return missing
  const fromHeight = Math.max(1, (await client.tipHeight()) - BLOCKS_SOUGHT + 1)
  const { found } = await client.find(txids.map((txid) => ({ txid, fromHeight })))
  return missing.filter(({ spentBy }) => !spentBy.some((txid) => found.has(txid)))
}

const nameOf = ({ txid, outputIndex }: Pick<BookedCoin, 'txid' | 'outputIndex'>): string =>
  `${txid}:${outputIndex}`

/** Every address of ours is a witness program of version 0 (BIP141). */
const isSameOutput = ({ amount, addressBytes }: BookedCoin, output: Output): boolean =>
  output.amount === amount &&
  (addressBytes === null || output.script === `0014${addressBytes.toString('hex')}`)
