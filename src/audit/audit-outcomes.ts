import { ChainHalted, ChainUnavailable } from '../chain/adapter.ts'
import { EvmNode } from '../chain/evm/evm-node.ts'
import { SolanaRpc } from '../chain/solana/solana-rpc.ts'
import { type EvmChainNode, isEvmNode, type SolanaChainNode } from '../nodes/chain-nodes.ts'
import type { EvmPayoutClient } from '../payouts/broadcast/evm/evm-payout-client.ts'
import { listOutcomeClaims, type OutcomeClaim } from '../payouts/store/outcome-claims.ts'
import type { Queryable } from '../postgres/pool.ts'
import { openAccountsClient } from './audit-balances.ts'
import type { ChainAudit } from './chain-audit.ts'
import { closeAtStop } from './close-at-stop.ts'
import { findsTransactionsOf } from './evm-history.ts'

/**
 * What the books say became of the signer's transactions against the chain: a sweep that is done is in a block, and no
 * transaction of a payout that failed has paid. The signer, which has no node, counts merchants' shares of the hot wallet
 * and the vault by these rows. What the books no longer say when they are read again is no discrepancy.
 */
export async function auditOutcomes(
  node: EvmChainNode | SolanaChainNode,
  db: Queryable,
  stop: AbortSignal,
): Promise<ChainAudit> {
  try {
    const claims = await listOutcomeClaims(db, node.network)
    const judged = await (isEvmNode(node)
      ? judgeOnEvm(node, claims, stop)
      : judgeOnSolana(node, claims, stop))
    const { wrong, unchecked } = judged
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
    return { kind: 'checked', blocksRead: 0, findings, unchecked }
  } catch (error) {
    if (!(error instanceof ChainUnavailable || error instanceof ChainHalted)) throw error
    return { kind: 'not_checked', reason: error.message }
  }
}

/** What the chain contradicts, and of what it says nothing, in words; null where of nothing. */
type Judged = { readonly wrong: readonly OutcomeClaim[]; readonly unchecked: string | null }

async function judgeOnEvm(
  node: EvmChainNode,
  claims: readonly OutcomeClaim[],
  stop: AbortSignal,
): Promise<Judged> {
  const client = openAccountsClient(node)
  const close = closeAtStop(client, stop)
  try {
    await client.parameters()
    const wrong: OutcomeClaim[] = []
    const missing: OutcomeClaim[] = []
    for (const claim of claims) {
      const receipt = await client.receiptOf(claim.txid)
      if (receipt === null) missing.push(claim)
      else if (receipt.succeeded !== claim.isDone) wrong.push(claim)
    }
    // What failed may be in no block; that it is not found says so only of a time of which the node finds others.
    const { found, older } = await splitByAge(node, client, missing)
    const [newest] = older.slice(-1)
    const unchecked =
      newest === undefined
        ? null
        : `the node no longer finds transactions as old as ${newest.at.toISOString()}: ${older.length} of that age and older were not checked`
    return { wrong: [...wrong, ...found.filter(({ isDone }) => isDone)], unchecked }
  } finally {
    await close()
  }
}

/** Which of the transactions that a node does not find are as old as others that it no longer finds, oldest first. */
async function splitByAge(
  { rpcUrl, rpcSetting }: EvmChainNode,
  client: EvmPayoutClient,
  missing: readonly OutcomeClaim[],
): Promise<{ readonly found: readonly OutcomeClaim[]; readonly older: readonly OutcomeClaim[] }> {
  const byAge = missing.toSorted((a, b) => a.at.getTime() - b.at.getTime())
  const history = new EvmNode(rpcUrl, rpcSetting)
  try {
    let [older, from] = [-1, byAge.length]
    while (from - older > 1) {
      const middle = (older + from) >>> 1
      const claim = byAge[middle]
      if (claim === undefined || (await findsTransactionsOf(history, client, claim.at))) from = middle
      else older = middle
    }
    return { found: byAge.slice(from), older: byAge.slice(0, from) }
  } finally {
    await history.rpc.close()
  }
}

/** A node that keeps its newest blocks alone says nothing of a transaction from before them. */
async function judgeOnSolana(
  node: SolanaChainNode,
  claims: readonly OutcomeClaim[],
  stop: AbortSignal,
): Promise<Judged> {
  const rpc = new SolanaRpc(node.rpcUrl, node.rpcSetting)
  const close = closeAtStop(rpc, stop)
  try {
    const statuses = await rpc.statuses(claims.map(({ txid }) => txid))
    const wrong = claims.filter(({ txid, isDone }) => (statuses.get(txid)?.failed === false) !== isDone)
    if (claims.every(({ txid }) => statuses.has(txid))) return { wrong, unchecked: null }
    const first = await rpc.firstAvailableBlock()
    const hasAll = first <= 1
    const sinceMs = hasAll ? 0 : ((await rpc.blockHead(first))?.blockTime ?? 0) * 1_000
    const isOlder = ({ txid, at }: OutcomeClaim) => !statuses.has(txid) && at.getTime() < sinceMs
    const older = claims.filter(isOlder).length
    const unchecked =
      older === 0 ? null : `the node keeps blocks from slot ${first} on: ${older} older were not checked`
    return { wrong: wrong.filter((claim) => !isOlder(claim)), unchecked }
  } finally {
    await close()
  }
}
