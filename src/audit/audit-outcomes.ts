import { ChainHalted, ChainUnavailable } from '../chain/adapter.ts'
import { listOutcomeClaims, type OutcomeClaim } from '../db/ledger/audit.ts'
import type { EvmChainNode } from '../nodes/chain-nodes.ts'
import type { EvmPayoutClient } from '../payouts/broadcast/evm/evm-payout-client.ts'
import type { Queryable } from '../postgres/pool.ts'
import { openAccountsClient } from './audit-balances.ts'
import type { ChainAudit } from './chain-audit.ts'
import { closeAtStop } from './close-at-stop.ts'

/**
 * What the books say became of the signer's transactions against the chain: a sweep that is done is in a block, and no
 * transaction of a payout that failed has paid. The signer, which has no node, counts merchants' shares of the hot wallet by
 * these rows. What the books no longer say when they are read again is no discrepancy.
 */
export async function auditOutcomes(
  node: EvmChainNode,
  db: Queryable,
  stop: AbortSignal,
): Promise<ChainAudit> {
  const client = openAccountsClient(node)
  const close = closeAtStop(client, stop)
  try {
    await client.parameters()
    const wrong: OutcomeClaim[] = []
    for (const claim of await listOutcomeClaims(db, node.network))
      if ((await hasSucceeded(client, claim.txid)) !== claim.isDone) wrong.push(claim)
    const still = wrong.length === 0 ? [] : await listOutcomeClaims(db, node.network)
    const isStill = (claim: OutcomeClaim) =>
      still.some(({ txid, isDone }) => txid === claim.txid && isDone === claim.isDone)
    const findings = wrong.filter(isStill).map(({ merchantId, id, txid, isDone }) => ({
      merchantId,
      subject: id,
      detail: isDone
        ? `is done by ${txid}, which the chain does not have`
        : `failed, and ${txid} has paid it on the chain`,
    }))
    return { kind: 'checked', blocksRead: 0, findings }
  } catch (error) {
    if (!(error instanceof ChainUnavailable || error instanceof ChainHalted)) throw error
    return { kind: 'not_checked', reason: error.message }
  } finally {
    await close()
  }
}

const hasSucceeded = async (client: EvmPayoutClient, txid: string): Promise<boolean> =>
  (await client.receiptOf(txid))?.succeeded === true
