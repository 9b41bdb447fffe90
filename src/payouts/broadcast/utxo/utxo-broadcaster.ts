import { ChainUnavailable } from '../../../chain/adapter.ts'
import { outputScriptOf } from '../../../chain/utxo/output-script.ts'
import { readTransaction } from '../../../chain/utxo/spent-outputs.ts'
import type { StaleTransaction } from '../../../chain/utxo/stale-branches.ts'
import { ASSETS, type AssetId, type Network } from '../../../core/assets.ts'
import { type Outpoint, outpointKey } from '../../../core/chain/outpoint.ts'
import { REORG_DEPTH_MAX, utxoParametersOf } from '../../../core/chain/utxo-parameters.ts'
import { confirmationsFor, readPaymentRules } from '../../../core/payment-rules.ts'
import { mayPayCoins } from '../../../core/payout/lost-payment.ts'
import type { Payout } from '../../../core/payout/payout.ts'
import { tenantOf } from '../../../core/tenant.ts'
import { loadNetworkState } from '../../../db/chain/network-state.ts'
import type { Pool } from '../../../postgres/pool.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { type Clock, isDue } from '../../../runtime/clock.ts'
import { DeduplicatedLog } from '../../../runtime/deduplicated-log.ts'
import type { Log } from '../../../runtime/log.ts'
import { isKnownTransaction, saveFoundPayout } from '../../store/found-payouts.ts'
import { heightOfCoin, saveNetworkFee } from '../../store/payout-coins.ts'
import { listPayoutInputs, type SignedPayoutTransaction } from '../../store/payout-transactions.ts'
import type { BroadcastVerdict, SignedBytes } from '../broadcaster.ts'
import { type Broadcaster, type ChainStatus, PAID_BY_UNKNOWN, type TrackedPayout } from '../broadcaster.ts'
import type { PayoutProvider, PayoutProviders } from '../payout-providers.ts'
import type { FeeRate, Found, FoundBlock, SoughtTransaction, Spender } from './utxo-payout-client.ts'

/** What payouts need of a UTXO chain's node; `UtxoPayoutClient` documents each. Throws `ChainUnavailable`. */
export type PayoutChain = PayoutProvider & {
  feeRate(): Promise<FeeRate>
  broadcast(raw: Uint8Array): Promise<BroadcastVerdict>
  tipHeight(): Promise<number>
  isUnspent(txid: string, outputIndex: number): Promise<boolean>
  find(sought: readonly SoughtTransaction[]): Promise<Found>
  staleTransactions(txid: string, fromHeight: number): Promise<readonly StaleTransaction[] | null>
  spenderOf(output: Outpoint, fromHeight: number): Promise<Spender | 'searching' | 'pruned' | null>
  hasInBlock(txid: string, block: FoundBlock): Promise<boolean>
}

type Parts = {
  readonly network: Network
  readonly asset: AssetId
  readonly providers: PayoutProviders<PayoutChain>
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
}

const FEE_INTERVAL_MS = 60_000

/** The state of the coins of a payout that can never happen. */
type DeadInputs = {
  readonly code: 'input_spent_elsewhere' | 'input_double_spent'
  /** Coins that nothing spends, and those that are no coins any more. */
  readonly free: readonly Outpoint[]
}

/** Payouts on a UTXO chain (Bitcoin, Litecoin). */
export class UtxoBroadcaster implements Broadcaster {
  readonly providers: PayoutProviders<PayoutChain>
  readonly #parts: Parts
  readonly #alerts = new DeduplicatedLog()
  #feeReadAtMs = Number.NEGATIVE_INFINITY
  /** Since which height a payout has been dead by its inputs. */
  readonly #deadSince = new Map<string, number>()

  constructor(parts: Parts) {
    this.#parts = parts
    this.providers = parts.providers
  }

  async refreshNetwork(): Promise<void> {
    const { pool, network, clock, log } = this.#parts
    const now = clock()
    if (!isDue(this.#feeReadAtMs, FEE_INTERVAL_MS, now.getTime())) return
    const own = await this.providers.current.feeRate()
    const hasEstimate = ({ rate, refusal }: FeeRate) => rate !== null && refusal === null
    // Another one may estimate, and is asked for that alone: all else this one does as well.
    const another = async (chain: PayoutChain) => {
      const rate = await chain.feeRate()
      return hasEstimate(rate) ? rate : null
    }
    const { rate, refusal } = hasEstimate(own) ? own : ((await this.providers.fromOthers(another)) ?? own)
    if (refusal !== null && this.#alerts.isNew(network, NO_ESTIMATE))
      log.error({ network, reason: refusal }, NO_ESTIMATE)
    if (rate !== null) await saveNetworkFee(pool, network, { rate, now })
    this.#feeReadAtMs = now.getTime()
  }

  async look(tracked: readonly TrackedPayout[]): Promise<ReadonlyMap<string, ChainStatus>> {
    const sought = tracked.flatMap(({ transactions }) => transactions.map(soughtOf))
    const { found, unread, pruned } = await this.providers.current.find(sought)
    // Another one may have kept them.
    if (pruned.size > 0 && !this.providers.isLast) throw new ChainUnavailable(PRUNED)
    const depth = await this.#depth()
    const statuses = new Map<string, ChainStatus>()
    for (const { payout, transactions } of tracked) {
      const transaction = transactions.find(({ txid }) => found.has(txid))
      const block = transaction === undefined ? undefined : found.get(transaction.txid)
      if (transaction !== undefined && block !== undefined) {
        this.#deadSince.delete(payout.id)
        const isFinal =
          block.confirmations >= depth && (await this.#isAgreed(payout, transaction.txid, block.hash, depth))
        statuses.set(payout.id, { kind: 'in_block', transaction, isFinal })
        continue
      }
      if (transactions.some(({ txid }) => pruned.has(txid))) this.#alertOfPruned(payout)
      const isUnread = transactions.some(({ txid }) => unread.has(txid))
      statuses.set(payout.id, { kind: isUnread ? 'unread' : 'absent' })
    }
    return statuses
  }

  /** A confirmed payout is watched for a while, and needs no second provider any more. */
  async #isAgreed({ id, status }: Payout, txid: string, hash: string, depth: number): Promise<boolean> {
    if (status === 'confirmed') return true
    return this.providers.anotherSays(id, (other) => other.hasInBlock(txid, { hash, confirmations: depth }))
  }

  broadcast({ txid, raw }: SignedBytes): Promise<BroadcastVerdict> {
    return this.providers.broadcast(txid, (chain) => chain.broadcast(raw))
  }

  accepted({ id }: Payout): void {
    this.#deadSince.delete(id)
  }

  /**
   * A payout is dead only when something else spent one of its coins in a block, or took the place of the transaction that made
   * one, and that lies as deep as a payment must: seen so at every look for as many blocks, and at the last one by
   * every provider, on the chain that the watcher follows.
   */
  async judgeRefused(
    tracked: TrackedPayout,
  ): Promise<{ readonly code: string; readonly unspent: readonly Outpoint[] } | null> {
    const { id } = tracked.payout
    const chain = this.providers.current
    const tip = await chain.tipHeight()
    const left = await this.#leftCoins(chain, tracked)
    const dead = await this.#deadInputs(chain, tracked, left)
    if (dead === null) {
      this.#deadSince.delete(id)
      await this.#sendLeft(chain, left)
      return null
    }
    const since = this.#deadSince.get(id) ?? tip
    this.#deadSince.set(id, since)
    if (tip - since < (await this.#depth())) return null
    let unspent = dead.free
    const isDead = await this.providers.allSay(id, async (other) => {
      const theirs = await this.#deadInputs(other, tracked, left)
      // Free is only what nobody saw spent.
      const names = new Set(theirs?.free.map(outpointKey))
      unspent = unspent.filter((coin) => names.has(outpointKey(coin)))
      if (theirs?.code !== dead.code) return false
      return dead.code === 'input_double_spent' || !(await this.#mayBePaid(other, tracked))
    })
    return isDead ? { code: dead.code, unspent } : null
  }

  /**
   * Whether what spent a coin of a payout may be the payout's own, forgotten by the books in a restore, or no block shows what
   * did. It is kept for the signer.
   */
  async #mayBePaid(chain: PayoutChain, { payout, transactions }: TrackedPayout): Promise<boolean> {
    const { pool, network, asset, clock } = this.#parts
    const state = await loadNetworkState(pool, network)
    const { keyFamily } = ASSETS[asset]
    if (keyFamily !== 'bitcoin' && keyFamily !== 'litecoin') return false
    const parameters = utxoParametersOf(keyFamily, state?.parameters ?? '')
    const to = parameters === null ? null : outputScriptOf(payout.destination, keyFamily, parameters)
    if (to === null) return false
    const script = Buffer.from(to.script).toString('hex')
    let isFound = false
    for (const input of await this.#inputsOf(payout)) {
      if (await chain.isUnspent(input.txid, input.outputIndex)) continue
      // Below where it was signed only a reorganisation puts it.
      const spender =
        (await chain.spenderOf(input, Math.min(...transactions.map(({ fromHeight }) => fromHeight)))) ??
        (await chain.spenderOf(input, lowestOf(transactions)))
      if (spender === 'pruned') this.#alertOfPruned(payout)
      if (typeof spender === 'string') return true
      // A coin that left the chain has none.
      if (spender === null) continue
      isFound = true
      const [output] = spender.outputs
      if (output === undefined || !mayPayCoins(payout, script, spender)) continue
      if (await isKnownTransaction(pool, network, spender.txid)) continue
      const tenant = tenantOf(payout)
      const found = {
        payoutId: payout.id,
        txid: spender.txid,
        value: output.amount,
        price: null,
        now: clock(),
      }
      await withTransaction(pool, tenant, (tx) => saveFoundPayout(tx, tenant, found))
      if (this.#alerts.isNew(payout.id, PAID_BY_UNKNOWN))
        this.#parts.log.error({ payoutId: payout.id, txid: spender.txid }, PAID_BY_UNKNOWN)
      return true
    }
    if (!isFound && this.#alerts.isNew(payout.id, SPENDER_UNSEEN))
      this.#parts.log.error({ payoutId: payout.id }, SPENDER_UNSEEN)
    return !isFound
  }

  /** Transactions that created a payout's coins and that a reorganisation removed from the chain. */
  async #leftCoins(chain: PayoutChain, { payout, transactions }: TrackedPayout): Promise<LeftCoins> {
    const left = new Map<string, readonly StaleTransaction[]>()
    for (const input of await this.#inputsOf(payout)) {
      if (left.has(input.txid) || (await chain.isUnspent(input.txid, input.outputIndex))) continue
      if (await this.#exists(chain, payout, input)) continue
      const found = await chain.staleTransactions(input.txid, lowestOf(transactions))
      if (found !== null) left.set(input.txid, found)
      else if (this.#alerts.isNew(payout.id, NOT_KEPT))
        this.#parts.log.error({ payoutId: payout.id }, NOT_KEPT)
    }
    return left
  }

  /** What can still come back is sent again, for a node forgets it when it restarts. */
  async #sendLeft(chain: PayoutChain, left: LeftCoins): Promise<void> {
    for (const transactions of left.values()) {
      for (const { raw, isOfItsBlock } of transactions) if (!isOfItsBlock) await chain.broadcast(raw)
    }
  }

  /** Null where the payout may still happen. */
  async #deadInputs(
    chain: PayoutChain,
    { payout, transactions }: TrackedPayout,
    left: LeftCoins,
  ): Promise<DeadInputs | null> {
    const free: Outpoint[] = []
    let [isSpent, isGone] = [false, false]
    for (const input of await this.#inputsOf(payout)) {
      const fundingTx = left.get(input.txid)
      if (await chain.isUnspent(input.txid, input.outputIndex)) free.push(input)
      else if (fundingTx === undefined) isSpent = (await this.#exists(chain, payout, input)) || isSpent
      else if (await isReplaced(chain, fundingTx)) {
        isGone = true
        free.push(input)
      }
    }
    // The chain may have moved meanwhile, and one of ours be in it.
    const again = await chain.find(transactions.map(soughtOf))
    if (!(isSpent || isGone) || again.found.size > 0 || again.unread.size > 0) return null
    return { code: isSpent ? 'input_spent_elsewhere' : 'input_double_spent', free }
  }

  #inputsOf(payout: Payout): Promise<Outpoint[]> {
    return listPayoutInputs(this.#parts.pool, tenantOf(payout), payout.id)
  }

  /** Blocks that make a payout final: the most that any payment of the asset needs; one on a private chain. */
  async #depth(): Promise<number> {
    const { pool, network, asset } = this.#parts
    const state = await loadNetworkState(pool, network)
    const tiers = confirmationsFor(readPaymentRules({}), asset, null, state?.parameters ?? 'main')
    const blocks = tiers[asset]
    if (typeof blocks !== 'number') throw new Error(`${asset} is not final by a count of blocks`)
    return blocks
  }

  #alertOfPruned({ id }: Payout): void {
    if (this.#alerts.isNew(id, PRUNED)) this.#parts.log.error({ payoutId: id }, PRUNED)
  }

  /** Whether the transaction that created a coin is still in a block: otherwise the coin is missing, not spent. */
  async #exists(chain: PayoutChain, payout: Payout, input: Outpoint): Promise<boolean> {
    const { pool, network } = this.#parts
    const fromHeight = await heightOfCoin(pool, tenantOf(payout), network, input.txid)
    if (fromHeight === null) return false
    const { found, pruned } = await chain.find([{ txid: input.txid, fromHeight }])
    if (pruned.size > 0) this.#alertOfPruned(payout)
    return found.has(input.txid)
  }
}

const NO_ESTIMATE =
  'a node estimates no fees, as with -blocksonly: payouts in live mode are signed at the last rate that was read, or wait for one'

const PRUNED =
  'a node has pruned the blocks of the time of a payout, and cannot say what became of it: use one that keeps them'

const SPENDER_UNSEEN =
  'a coin of a payout is spent, and no block of the node shows by what: the payout is not given up'

const NOT_KEPT =
  'a coin of a payout left the chain and no node has kept its block, or its node declares it invalid: the payout waits until the coin is back'

type LeftCoins = ReadonlyMap<string, readonly StaleTransaction[]>

/**
 * Whether something else spent what the last of these transactions needs: none of them can then be in a block. What they spend
 * and did not make themselves was there at the fork, so that it is gone only if it was spent above it.
 */
async function isReplaced(chain: PayoutChain, left: readonly StaleTransaction[]): Promise<boolean> {
  const sought = left.map(({ txid, forkHeight }) => ({ txid, fromHeight: forkHeight + 1 }))
  const { found, unread } = await chain.find(sought)
  if (unread.size > 0) return false
  const [waiting, replaced] = [new Set<string>(), new Set<string>()]
  for (const { txid, isOfItsBlock, spends } of left) {
    if (found.has(txid)) continue
    let isGone = isOfItsBlock
    for (const spent of spends) {
      if (isGone) break
      if (waiting.has(spent.txid)) continue
      isGone = replaced.has(spent.txid) || !(await chain.isUnspent(spent.txid, spent.outputIndex))
    }
    if (isGone) replaced.add(txid)
    else waiting.add(txid)
  }
  return replaced.has(left.at(-1)?.txid ?? '')
}

/** A reorganisation may put a payout into a block below the checkpoint of its signing. */
const soughtOf = ({ txid, fromHeight, raw }: SignedPayoutTransaction): SoughtTransaction => {
  const spends = readTransaction(raw).spends[0]
  const sought = { txid, fromHeight: Math.max(0, fromHeight - REORG_DEPTH_MAX) }
  return spends === undefined ? sought : { ...sought, spends }
}
const lowestOf = (transactions: readonly SignedPayoutTransaction[]): number =>
  Math.min(...transactions.map((transaction) => soughtOf(transaction).fromHeight))
