import { ChainUnavailable } from '../chain/adapter.ts'
import type { BroadcastVerdict } from '../chain/broadcast-verdict.ts'
import type { Found, FoundBlock, SoughtTransaction } from '../chain/utxo/payout-carrier.ts'
import type { Clock } from '../clock.ts'
import type { AssetId, Network } from '../core/assets.ts'
import { confirmationsFor, readPaymentRules } from '../core/payment-rules.ts'
import type { Payout } from '../core/payout/payout.ts'
import type { Pool } from '../db/pool.ts'
import { loadNetworkState } from '../db/queries/network-state.ts'
import { heightOfCoin, saveNetworkFee } from '../db/queries/payout-coins.ts'
import { listPayoutInputs, type Outpoint } from '../db/queries/payout-transactions.ts'
import type { Tenant } from '../db/transaction.ts'
import type { Log } from '../log.ts'
import { Told } from '../told.ts'
import type { Followed, PayoutCarriage, Standing } from './payout-carriage.ts'
import type { PayoutProvider, PayoutProviders } from './payout-providers.ts'

/** A chain of coins, as payouts see it; see chain/utxo/payout-carrier. */
export type PayoutChain = PayoutProvider & {
  feeRate(): Promise<bigint | null>
  broadcast(raw: Uint8Array): Promise<BroadcastVerdict>
  tipHeight(): Promise<number>
  isUnspent(txid: string, outputIndex: number): Promise<boolean>
  find(sought: readonly SoughtTransaction[]): Promise<Found>
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

/** Payouts on a chain of coins (Bitcoin, Litecoin). */
export class UtxoCarriage implements PayoutCarriage {
  readonly providers: PayoutProviders<PayoutChain>
  readonly #parts: Parts
  readonly #told = new Told()
  #feeReadAtMs = Number.NEGATIVE_INFINITY
  /** Since which height the inputs of a payout have been spent by something else. */
  readonly #spentSince = new Map<string, number>()

  constructor(parts: Parts) {
    this.#parts = parts
    this.providers = parts.providers
  }

  async keepTerms(): Promise<void> {
    const { pool, network, clock } = this.#parts
    const now = clock()
    if (now.getTime() - this.#feeReadAtMs < FEE_INTERVAL_MS) return
    const rate = await this.providers.current.feeRate()
    if (rate !== null) await saveNetworkFee(pool, network, { rate, now })
    this.#feeReadAtMs = now.getTime()
  }

  async look(followed: readonly Followed[]): Promise<ReadonlyMap<string, Standing>> {
    const sought = followed.flatMap(({ transactions }) => transactions.map(soughtOf))
    const { found, unread, pruned } = await this.providers.current.find(sought)
    // Another one may have kept them.
    if (pruned.size > 0 && !this.providers.isLast) throw new ChainUnavailable(PRUNED)
    const depth = await this.#depth()
    const standings = new Map<string, Standing>()
    for (const { payout, transactions } of followed) {
      const transaction = transactions.find(({ txid }) => found.has(txid))
      const block = transaction === undefined ? undefined : found.get(transaction.txid)
      if (transaction !== undefined && block !== undefined) {
        this.#spentSince.delete(payout.id)
        const isFinal =
          block.confirmations >= depth && (await this.#isAgreed(payout, transaction.txid, block.hash, depth))
        standings.set(payout.id, { kind: 'in_block', transaction, isFinal })
        continue
      }
      if (transactions.some(({ txid }) => pruned.has(txid))) this.#complainOfPruned(payout)
      const isUnread = transactions.some(({ txid }) => unread.has(txid))
      standings.set(payout.id, { kind: isUnread ? 'unread' : 'absent' })
    }
    return standings
  }

  /** What is confirmed already is looked at for a while, and needs nobody's word any more. */
  async #isAgreed({ id, status }: Payout, txid: string, hash: string, depth: number): Promise<boolean> {
    if (status === 'confirmed') return true
    return this.providers.anotherSays(id, (other) => other.hasInBlock(txid, { hash, confirmations: depth }))
  }

  broadcast(raw: Uint8Array): Promise<BroadcastVerdict> {
    return this.providers.current.broadcast(raw)
  }

  taken({ id }: Payout): void {
    this.#spentSince.delete(id)
  }

  /**
   * Dead is a payout only when one of its coins was spent by something else in a block, and that lies as deep as a
   * payment must: seen so at every look for as many blocks, and at the last one by every provider.
   */
  async judgeRefused(
    followed: Followed,
  ): Promise<{ readonly code: string; readonly unspent: readonly Outpoint[] } | null> {
    const { id } = followed.payout
    const chain = this.providers.current
    const tip = await chain.tipHeight()
    let unspent = await this.#unspentOfDead(chain, followed)
    if (unspent === null) {
      this.#spentSince.delete(id)
      return null
    }
    const since = this.#spentSince.get(id) ?? tip
    this.#spentSince.set(id, since)
    if (tip - since < (await this.#depth())) return null
    const isDead = await this.providers.allSay(id, async (other) => {
      const theirs = await this.#unspentOfDead(other, followed)
      // Free is only what nobody saw spent.
      const names = new Set(theirs?.map(outpointName))
      unspent = unspent?.filter((coin) => names.has(outpointName(coin))) ?? null
      return theirs !== null
    })
    return isDead ? { code: 'input_spent_elsewhere', unspent: unspent ?? [] } : null
  }

  /** The coins of a payout that nothing spends, where something else spent one of them in a block; else null. */
  async #unspentOfDead(
    chain: PayoutChain,
    { payout, transactions }: Followed,
  ): Promise<readonly Outpoint[] | null> {
    const inputs = await listPayoutInputs(this.#parts.pool, tenantOf(payout), payout.id)
    const unspent: Outpoint[] = []
    let isSpent = false
    for (const input of inputs) {
      if (await chain.isUnspent(input.txid, input.outputIndex)) unspent.push(input)
      else if (await this.#exists(chain, payout, input)) isSpent = true
    }
    // The chain may have moved meanwhile, and one of ours be in it.
    const again = await chain.find(transactions.map(soughtOf))
    return !isSpent || again.found.size > 0 || again.unread.size > 0 ? null : unspent
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

  #complainOfPruned({ id }: Payout): void {
    if (this.#told.isNew(id, PRUNED)) this.#parts.log.error({ payoutId: id }, PRUNED)
  }

  /** Whether the transaction that made a coin stands in a block still: else the coin is away and not spent. */
  async #exists(chain: PayoutChain, payout: Payout, input: Outpoint): Promise<boolean> {
    const { pool, network } = this.#parts
    const fromHeight = await heightOfCoin(pool, tenantOf(payout), network, input.txid)
    if (fromHeight === null) return false
    const { found, pruned } = await chain.find([{ txid: input.txid, fromHeight }])
    if (pruned.size > 0) this.#complainOfPruned(payout)
    return found.has(input.txid)
  }
}

const PRUNED =
  'a node has pruned the blocks of the time of a payout, and cannot say what became of it: use one that keeps them'

const outpointName = ({ txid, outputIndex }: Outpoint): string => `${txid}:${outputIndex}`
const soughtOf = ({ txid, fromHeight }: SoughtTransaction): SoughtTransaction => ({ txid, fromHeight })
const tenantOf = ({ merchantId, livemode }: Payout): Tenant => ({ merchantId, livemode })
