import type { BroadcastVerdict } from '../chain/broadcast-verdict.ts'
import type { FoundBlock, SoughtTransaction } from '../chain/utxo/payout-carrier.ts'
import type { Clock } from '../clock.ts'
import type { AssetId, Network } from '../core/assets.ts'
import { confirmationsFor, readPaymentRules } from '../core/payment-rules.ts'
import type { Payout } from '../core/payout/payout.ts'
import type { Pool } from '../db/pool.ts'
import { loadNetworkState } from '../db/queries/network-state.ts'
import { heightOfCoin, saveNetworkFee } from '../db/queries/payout-coins.ts'
import { listPayoutInputs, type Outpoint } from '../db/queries/payout-transactions.ts'
import type { Tenant } from '../db/transaction.ts'
import type { Followed, PayoutCarriage, Standing } from './payout-carriage.ts'

/** A chain of coins, as payouts see it; see chain/utxo/payout-carrier. */
export type PayoutChain = {
  feeRate(): Promise<bigint | null>
  broadcast(raw: Uint8Array): Promise<BroadcastVerdict>
  tipHeight(): Promise<number>
  isUnspent(txid: string, outputIndex: number): Promise<boolean>
  find(
    sought: readonly SoughtTransaction[],
  ): Promise<{ readonly found: ReadonlyMap<string, FoundBlock>; readonly unread: ReadonlySet<string> }>
}

type Parts = {
  readonly network: Network
  readonly asset: AssetId
  readonly chain: PayoutChain
  readonly pool: Pool
  readonly clock: Clock
}

const FEE_INTERVAL_MS = 60_000

/** Payouts on a chain of coins (Bitcoin, Litecoin). */
export class UtxoCarriage implements PayoutCarriage {
  readonly #parts: Parts
  #feeReadAtMs = Number.NEGATIVE_INFINITY
  /** Since which height the inputs of a payout have been spent by something else. */
  readonly #spentSince = new Map<string, number>()

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async keepTerms(): Promise<void> {
    const { chain, pool, network, clock } = this.#parts
    const now = clock()
    if (now.getTime() - this.#feeReadAtMs < FEE_INTERVAL_MS) return
    const rate = await chain.feeRate()
    if (rate !== null) await saveNetworkFee(pool, network, { rate, now })
    this.#feeReadAtMs = now.getTime()
  }

  async look(followed: readonly Followed[]): Promise<ReadonlyMap<string, Standing>> {
    const sought = followed.flatMap(({ transactions }) => transactions.map(soughtOf))
    const { found, unread } = await this.#parts.chain.find(sought)
    const depth = await this.#depth()
    return new Map(
      followed.map(({ payout, transactions }): [string, Standing] => {
        const transaction = transactions.find(({ txid }) => found.has(txid))
        if (transaction !== undefined) {
          this.#spentSince.delete(payout.id)
          const confirmations = found.get(transaction.txid)?.confirmations ?? 0
          return [payout.id, { kind: 'in_block', transaction, isFinal: confirmations >= depth }]
        }
        const isUnread = transactions.some(({ txid }) => unread.has(txid))
        return [payout.id, { kind: isUnread ? 'unread' : 'absent' }]
      }),
    )
  }

  broadcast(raw: Uint8Array): Promise<BroadcastVerdict> {
    return this.#parts.chain.broadcast(raw)
  }

  taken({ id }: Payout): void {
    this.#spentSince.delete(id)
  }

  /**
   * Dead is a payout only when one of its coins was spent by something else in a block, and that lies as deep as a
   * payment must: seen so at every look for as many blocks.
   */
  async judgeRefused({
    payout,
    transactions,
  }: Followed): Promise<{ readonly code: string; readonly unspent: readonly Outpoint[] } | null> {
    const { chain, pool } = this.#parts
    const tip = await chain.tipHeight()
    const inputs = await listPayoutInputs(pool, tenantOf(payout), payout.id)
    const unspent: Outpoint[] = []
    let isSpent = false
    for (const input of inputs) {
      if (await chain.isUnspent(input.txid, input.outputIndex)) unspent.push(input)
      else if (await this.#exists(payout, input)) isSpent = true
    }
    // The chain may have moved meanwhile, and one of ours be in it.
    const again = await chain.find(transactions.map(soughtOf))
    if (!isSpent || again.found.size > 0 || again.unread.size > 0) {
      this.#spentSince.delete(payout.id)
      return null
    }
    const since = this.#spentSince.get(payout.id) ?? tip
    this.#spentSince.set(payout.id, since)
    return tip - since < (await this.#depth()) ? null : { code: 'input_spent_elsewhere', unspent }
  }

  /** Blocks that make a payout final: the most that any payment of the asset needs; one on a chain of one's own. */
  async #depth(): Promise<number> {
    const { pool, network, asset } = this.#parts
    const state = await loadNetworkState(pool, network)
    const tiers = confirmationsFor(readPaymentRules({}), asset, null, state?.parameters ?? 'main')
    const blocks = tiers[asset]
    if (typeof blocks !== 'number') throw new Error(`${asset} is not final by a count of blocks`)
    return blocks
  }

  /** Whether the transaction that made a coin stands in a block still: else the coin is away and not spent. */
  async #exists(payout: Payout, input: Outpoint): Promise<boolean> {
    const { chain, pool, network } = this.#parts
    const fromHeight = await heightOfCoin(pool, tenantOf(payout), network, input.txid)
    if (fromHeight === null) return false
    const { found } = await chain.find([{ txid: input.txid, fromHeight }])
    return found.has(input.txid)
  }
}

const soughtOf = ({ txid, fromHeight }: SoughtTransaction): SoughtTransaction => ({ txid, fromHeight })
const tenantOf = ({ merchantId, livemode }: Payout): Tenant => ({ merchantId, livemode })
