import type { BroadcastVerdict, FoundBlock, SoughtTransaction } from '../chain/utxo/payout-carrier.ts'
import type { Clock } from '../clock.ts'
import type { AssetId, Network } from '../core/assets.ts'
import { confirmationsFor, readPaymentRules } from '../core/payment-rules.ts'
import type { Payout } from '../core/payout/payout.ts'
import { isConstraintViolation } from '../db/constraint-violation.ts'
import type { Pool } from '../db/pool.ts'
import { loadNetworkState } from '../db/queries/network-state.ts'
import { heightOfCoin, saveNetworkFee } from '../db/queries/payout-coins.ts'
import {
  listPayoutInputs,
  listPayoutTransactions,
  loadPayoutRefusal,
  type Outpoint,
  type PayoutTransaction,
} from '../db/queries/payout-transactions.ts'
import { listLatelyConfirmed, listPayoutsUnderWay } from '../db/queries/payouts.ts'
import type { Tenant } from '../db/transaction.ts'
import { carryPayout, type PayoutFact } from '../flows/carry-payout.ts'
import type { Log } from '../log.ts'

/** A chain, as payouts see it; see chain/utxo/payout-carrier. */
export type PayoutChain = {
  feeRate(): Promise<bigint | null>
  broadcast(raw: Uint8Array): Promise<BroadcastVerdict>
  tipHeight(): Promise<number>
  isUnspent(txid: string, outputIndex: number): Promise<boolean>
  find(
    sought: readonly SoughtTransaction[],
  ): Promise<{ readonly found: ReadonlyMap<string, FoundBlock>; readonly unread: ReadonlySet<string> }>
}

export type PayoutFollower = {
  readonly network: Network
  readonly asset: AssetId
  readonly chain: PayoutChain
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly notifier: { deliveriesWaiting(): void }
}

const FEE_INTERVAL_MS = 60_000
const PAGE = 100
/** Payouts of one network looked at in one pass. */
const PASS_MAX = 2_000
/** A confirmed payout is offered again to a chain that lost its block for so long. */
const LOOKED_AFTER_MS = 24 * 3_600_000

type Followed = { readonly payout: Payout; readonly transactions: readonly PayoutTransaction[] }

/**
 * Carries signed payouts to their chain and follows them there, without any key: sends the same bytes until a node has
 * them, and again after a reorganisation; confirms what lies deep enough; ends what can never happen. Everything it writes
 * is a fact that may be told twice, so that any number of processes may do it.
 */
export class PayoutCourier {
  readonly #parts: PayoutFollower
  #feeReadAtMs = Number.NEGATIVE_INFINITY
  /** Since which height the inputs of a payout have been spent by something else. */
  readonly #spentSince = new Map<string, number>()
  readonly #complained = new Set<string>()

  constructor(parts: PayoutFollower) {
    this.#parts = parts
  }

  /** One look at everything that is under way. Throws `ChainUnavailable` where the node cannot be asked. */
  async pass(): Promise<void> {
    await this.#keepFee()
    const followed = await this.#load()
    if (followed.length === 0) return
    const sought = followed.flatMap(({ transactions }) =>
      transactions.map(({ txid, fromHeight }) => ({ txid, fromHeight })),
    )
    const { found, unread } = await this.#parts.chain.find(sought)
    const depth = await this.#depth()
    for (const one of followed)
      await this.#attempt(one.payout, () => this.#carry(one, { found, unread, depth }))
  }

  /** One payout whose rows contradict each other must not hold up the others. */
  async #attempt(payout: Payout, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      if (!isConstraintViolation(error)) throw error
      this.#parts.log.error(
        { err: error, payoutId: payout.id },
        'a payout contradicts what the database holds',
      )
    }
  }

  async #keepFee(): Promise<void> {
    const { chain, pool, network, clock } = this.#parts
    const now = clock()
    if (now.getTime() - this.#feeReadAtMs < FEE_INTERVAL_MS) return
    const rate = await chain.feeRate()
    if (rate !== null) await saveNetworkFee(pool, network, { rate, now })
    this.#feeReadAtMs = now.getTime()
  }

  /** What is signed and not done, and what was confirmed lately. What the signer refused ends here. */
  async #load(): Promise<Followed[]> {
    const { pool, network, clock } = this.#parts
    const since = new Date(clock().getTime() - LOOKED_AFTER_MS)
    const payouts: Payout[] = []
    let after = ''
    while (payouts.length < PASS_MAX) {
      const page = await listPayoutsUnderWay(pool, network, { after, limit: PAGE })
      payouts.push(...page.map(({ payout }) => payout))
      const last = page.at(-1)
      if (last === undefined || page.length < PAGE) break
      after = last.payout.id
    }
    // They come after what is under way: reading for them must not hold that up.
    payouts.push(...(await listLatelyConfirmed(pool, network, since, PASS_MAX)).map(({ payout }) => payout))
    const followed: Followed[] = []
    for (const payout of payouts) {
      const transactions = await listPayoutTransactions(pool, tenantOf(payout), payout.id)
      if (transactions.length > 0) followed.push({ payout, transactions })
      else await this.#attempt(payout, () => this.#endRefused(payout))
    }
    return followed
  }

  async #endRefused(payout: Payout): Promise<void> {
    const code = await loadPayoutRefusal(this.#parts.pool, tenantOf(payout), payout.id)
    if (code !== null) await this.#tell(payout, { kind: 'dead', code, unspent: [] })
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

  async #carry(
    { payout, transactions }: Followed,
    chain: { found: ReadonlyMap<string, FoundBlock>; unread: ReadonlySet<string>; depth: number },
  ): Promise<void> {
    const inBlock = transactions.find(({ txid }) => chain.found.has(txid))
    if (inBlock !== undefined) {
      this.#spentSince.delete(payout.id)
      const confirmations = chain.found.get(inBlock.txid)?.confirmations ?? 0
      const kind = confirmations >= chain.depth ? 'final' : 'sent'
      await this.#tell(payout, { kind, carrier: inBlock })
      return
    }
    if (transactions.some(({ txid }) => chain.unread.has(txid))) return
    // The newest pays the most; an older one is offered only where no node takes the newer.
    for (const transaction of [...transactions].reverse()) {
      const verdict = await this.#parts.chain.broadcast(transaction.raw)
      if (verdict.kind === 'known') {
        this.#spentSince.delete(payout.id)
        await this.#tell(payout, { kind: 'sent', carrier: transaction })
        return
      }
      if (verdict.kind === 'refused') this.#complain(payout, verdict.reason)
    }
    if (payout.status !== 'confirmed') await this.#bury(payout, transactions, chain.depth)
  }

  /**
   * Dead is a payout only when one of its coins was spent by something else in a block, and that lies as deep as a
   * payment must: seen so at every look for as many blocks.
   */
  async #bury(payout: Payout, transactions: readonly PayoutTransaction[], depth: number): Promise<void> {
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
    const again = await chain.find(transactions.map(({ txid, fromHeight }) => ({ txid, fromHeight })))
    if (!isSpent || again.found.size > 0 || again.unread.size > 0) {
      this.#spentSince.delete(payout.id)
      return
    }
    const since = this.#spentSince.get(payout.id) ?? tip
    this.#spentSince.set(payout.id, since)
    if (tip - since < depth) return
    await this.#tell(payout, { kind: 'dead', code: 'input_spent_elsewhere', unspent })
  }

  /** Whether the transaction that made a coin stands in a block still: else the coin is away and not spent. */
  async #exists(payout: Payout, input: Outpoint): Promise<boolean> {
    const { chain, pool, network } = this.#parts
    const fromHeight = await heightOfCoin(pool, tenantOf(payout), network, input.txid)
    if (fromHeight === null) return false
    const { found } = await chain.find([{ txid: input.txid, fromHeight }])
    return found.has(input.txid)
  }

  async #tell(payout: Payout, fact: PayoutFact): Promise<void> {
    const { pool, clock, log, notifier } = this.#parts
    const told = await carryPayout({ pool, clock }, { tenant: tenantOf(payout), payoutId: payout.id, fact })
    if (fact.kind === 'dead' && told.changed)
      log.error({ payoutId: payout.id, code: fact.code }, 'a payout failed')
    if (told.deliveries > 0) notifier.deliveriesWaiting()
  }

  #complain(payout: Payout, reason: string): void {
    const about = `${payout.id} ${reason}`
    if (this.#complained.has(about)) return
    this.#complained.add(about)
    this.#parts.log.warn({ payoutId: payout.id, reason }, 'a node does not take the transaction of a payout')
  }
}

const tenantOf = ({ merchantId, livemode }: Payout): Tenant => ({ merchantId, livemode })
