import { blockTagAt } from '../../src/core/finality.ts'
import { advanceInvoice } from '../../src/core/invoice/advance.ts'
import type { Market } from '../../src/core/invoice/market.ts'
import { remainingIn } from '../../src/core/invoice/status.ts'
import { planSwitch } from '../../src/core/invoice/switch.ts'
import type { Invoice, InvoiceEffect, InvoiceInput, TransferFact } from '../../src/core/invoice/types.ts'
import { coinAmountForUsd, parsePrice } from '../../src/core/money.ts'
import { readPaymentRules } from '../../src/core/payment-rules.ts'
import { makeInvoice } from '../support/invoice.ts'
import type { Random } from '../support/random.ts'

/** One transaction output in the imagined world, on the invoice's own network or on another coin's. */
export type WorldTransfer = {
  readonly txid: string
  readonly asset: 'LTC' | 'BTC'
  readonly amount: bigint
  readonly firstSeenMs: number
  /** Height of its block; null in the mempool; `gone` once replaced or reorganised away. */
  place: number | null | 'gone'
  blockHash: string
  /** Time of its block. */
  minedMs: number
}

const AMOUNT = 100_000_000n
const SIZES = [
  AMOUNT,
  AMOUNT,
  AMOUNT / 2n,
  AMOUNT / 2n,
  AMOUNT / 4n,
  AMOUNT * 2n,
  AMOUNT - 5n,
  AMOUNT + 5n,
  100n,
]
/** Rates at which two tokens of a dollar invoice may count: at par, near a dollar, and where nothing divides evenly. */
const RATES = ['1', '0.9998', '1.0003', '0.993333333333', '1.017'] as const
const MINUTE_MS = 60_000

/**
 * A chain, a mempool, a clock and an invoice to which random things happen. It feeds the invoice what a watcher
 * would: where each transfer stands now.
 */
export class InvoiceWorld {
  invoice: Invoice
  nowMs: number
  tip = 100
  /** What the chain's consensus has marked: never above the tip, and moved down only by a reorganisation. */
  blockTags = { safe: 98, finalized: 96 }
  readonly transfers: WorldTransfer[] = []
  readonly effects: InvoiceEffect[] = []
  readonly log: string[] = []
  lastInput: InvoiceInput | null = null
  /** Whether money on the other network counts as well. */
  readonly isAnyNetwork: boolean
  /** Rates, in 10⁻¹² dollar, at which each counts where the invoice asks for dollars. */
  readonly rates: { readonly LTC: bigint; readonly BTC: bigint } | null
  /** Whether every network that pays it was read past the deadline at once. */
  wasReadPastDeadline = false
  private branch = 0
  private readonly random: Random

  constructor(random: Random) {
    this.random = random
    const tolerance = random.chance(0.3) ? 10n : 0n
    this.isAnyNetwork = random.chance(0.6)
    const [own, other] = [random.pick(RATES), random.pick(RATES)]
    const isInDollars = this.isAnyNetwork && random.chance(0.6)
    this.rates = isInDollars ? { LTC: parsePrice(own) ?? 0n, BTC: parsePrice(other) ?? 0n } : null
    this.invoice = makeInvoice({
      ...(this.rates === null ? {} : inDollars(own, other, this.rates.LTC)),
      alsoAccepts: this.isAnyNetwork ? ['BTC'] : [],
      toleranceUnder: tolerance,
      toleranceOver: tolerance,
      // Litecoin has no block tags; the invoice does not know that, and its other histories are the same.
      confirmations: { LTC: random.pick([1, 2, 3, 'safe', 'finalized']), BTC: random.pick([1, 2]) },
    })
    this.nowMs = this.invoice.createdAtMs
  }

  /** One random thing happens; returns what it was. */
  step(): string {
    const action = this.random.pick(ACTIONS)
    const told = action.act(this)
    const line = told ? action.name : `${action.name} (nothing to do)`
    this.log.push(line)
    return line
  }

  pay(inBlock: boolean): boolean {
    if (this.transfers.length >= 6) return false
    const asset = this.random.chance(this.isAnyNetwork ? 0.4 : 0.15) ? 'BTC' : 'LTC'
    // Buyers mostly send what the page says is left, in whichever they like.
    const left = this.random.chance(0.4) ? remainingIn(this.invoice, asset) : 0n
    this.transfers.push({
      txid: `tx${this.transfers.length}`,
      asset,
      amount: left > 0n ? left : this.random.pick(SIZES),
      firstSeenMs: this.nowMs,
      place: null,
      blockHash: '',
      minedMs: 0,
    })
    if (inBlock) this.mineBlock(1)
    this.tellTransfers()
    return true
  }

  mine(): boolean {
    this.mineBlock(0.7)
    if (this.random.chance(0.3)) this.mineBlock(0.7)
    this.tellTransfers()
    return true
  }

  /** The buyer looks at the other network: nothing that came or is due may change by it. */
  choose(): boolean {
    if (!this.isAnyNetwork) return false
    const plan = planSwitch(this.invoice, this.invoice.asset === 'LTC' ? 'BTC' : 'LTC', MARKET, this.nowMs)
    if (plan.kind !== 'switch') return false
    this.invoice = plan.next
    return true
  }

  reorganise(): boolean {
    const depth = 1 + this.random.below(3)
    this.branch += 1
    // The networks are reorganised each by itself, or at once.
    const spared = this.random.pick(['LTC', 'BTC', null, null])
    this.tip -= depth
    this.blockTags = {
      safe: Math.min(this.blockTags.safe, this.tip),
      finalized: Math.min(this.blockTags.finalized, this.tip),
    }
    for (const transfer of this.transfers) {
      if (typeof transfer.place !== 'number' || transfer.place <= this.tip || transfer.asset === spared)
        continue
      transfer.place = this.random.chance(0.3) ? 'gone' : null
    }
    for (let block = 0; block <= depth; block++) this.mineBlock(0.5)
    this.tellTransfers()
    return true
  }

  tag(): boolean {
    const safe = this.blockTags.safe + this.random.below(this.tip - this.blockTags.safe + 1)
    const finalized = this.blockTags.finalized + this.random.below(safe - this.blockTags.finalized + 1)
    this.blockTags = { safe, finalized }
    this.tellTransfers()
    return true
  }

  replace(): boolean {
    const pending = this.transfers.filter((transfer) => transfer.place === null)
    if (pending.length === 0) return false
    this.random.pick(pending).place = 'gone'
    this.tellTransfers()
    return true
  }

  comeBack(): boolean {
    const lost = this.transfers.filter((transfer) => transfer.place === 'gone')
    if (lost.length === 0) return false
    this.random.pick(lost).place = null
    this.tellTransfers()
    return true
  }

  passTime(): boolean {
    this.nowMs += this.random.pick([1, 5, 20, 61, 1441]) * MINUTE_MS
    return true
  }

  readDeadline(): boolean {
    const readAtMs = this.nowMs - this.random.pick([0, 0, 30, 90]) * MINUTE_MS
    const tip = { tipHeight: this.tip, tipHash: `block-${this.branch}-${this.tip}` }
    const others = [{ network: 'bitcoin-test', readAtMs, ...tip }] as const
    const reading = { network: 'litecoin-test', readAtMs: this.nowMs, providers: [], others, ...tip } as const
    const { expiresAtMs } = this.invoice
    this.wasReadPastDeadline ||= this.nowMs > expiresAtMs && (!this.isAnyNetwork || readAtMs > expiresAtMs)
    this.tell({ kind: 'deadline_read', readAtMs: this.nowMs, reading })
    return true
  }

  cancel(): boolean {
    return this.tell({ kind: 'cancel', nowMs: this.nowMs })
  }

  resolve(resolution: 'accept' | 'dismiss'): boolean {
    return this.tell({ kind: 'resolve', resolution, nowMs: this.nowMs })
  }

  /** The process died after the commit and before it knew: the same is reported again. */
  crash(): boolean {
    if (this.lastInput === null || this.lastInput.kind !== 'transfers') return false
    this.tell(this.lastInput)
    return true
  }

  private mineBlock(inclusion: number): void {
    this.tip += 1
    for (const transfer of this.transfers) {
      if (transfer.place !== null || !this.random.chance(inclusion)) continue
      transfer.place = this.tip
      transfer.minedMs = this.nowMs
      transfer.blockHash = `${transfer.asset}-${this.branch}-${this.tip}`
    }
  }

  private tellTransfers(): void {
    const facts = [...this.transfers.map((transfer) => this.factOf(transfer)), ...this.sumsThatLeft()]
    const newPaymentIds = facts.map((fact) => `pay_${fact.txid}`)
    this.tell({ kind: 'transfers', facts, newPaymentIds, nowMs: this.nowMs })
  }

  /** That the sums of blocks which left the chain are gone. */
  private sumsThatLeft(): TransferFact[] {
    const standing = new Set(
      this.transfers.flatMap(({ place, blockHash }) => (typeof place === 'number' ? [blockHash] : [])),
    )
    return this.invoice.payments
      .filter(({ isBlockSum, txid }) => isBlockSum && !standing.has(txid))
      .map(({ network, txid, outputIndex, asset, amount, firstSeenMs, block }) => ({
        ...{ network, txid, outputIndex, asset, amount, firstSeenMs, knownIn: block?.hash ?? null },
        minimumConfirmations: 1,
        state: 'reorged',
      }))
  }

  private factOf(transfer: WorldTransfer): TransferFact {
    const base = {
      network: transfer.asset === 'LTC' ? ('litecoin-test' as const) : ('bitcoin-test' as const),
      txid: transfer.txid,
      outputIndex: 0,
      asset: transfer.asset,
      amount: transfer.amount,
      firstSeenMs: transfer.firstSeenMs,
      minimumConfirmations: 1,
      knownIn: this.invoice.payments.find(({ txid }) => txid === transfer.txid)?.block?.hash ?? null,
    }
    if (transfer.place === null) return { ...base, state: 'mempool' }
    if (transfer.place === 'gone') return { ...base, state: 'replaced' }
    const tag = blockTagAt(transfer.place, this.blockTags)
    return {
      ...base,
      ...(tag === null ? {} : { tag }),
      state: 'block',
      block: { height: transfer.place, hash: transfer.blockHash, timeMs: transfer.minedMs },
      confirmations: this.tip - transfer.place + 1,
    }
  }

  private tell(input: InvoiceInput): boolean {
    this.lastInput = input
    const advance = advanceInvoice(this.invoice, input)
    if (advance.kind === 'refused') return false
    this.invoice = advance.next
    this.effects.push(...advance.effects)
    return true
  }
}

/** A dollar, asked for in any issuer's tokens. */
function inDollars(own: string, other: string, price: bigint): Partial<Invoice> {
  const quoted = (usdPerUnit: string) => ({ usdPerUnit, quotedAt: '2026-11-21T12:00:00.000Z', sources: [] })
  const usdCents = 100n
  const amount = coinAmountForUsd(usdCents, price, 8)
  return {
    usdCents,
    amount,
    rate: quoted(own),
    tokenRates: { LTC: quoted(own), BTC: quoted(other) },
  }
}

const MARKET: Market = {
  livemode: false,
  rules: readPaymentRules({}),
  supportOf: () => ({ isConfigured: true, parameters: 'regtest', halted: false }),
  priceOf: () => null,
  currencyRateOf: () => null,
  hasAddressFor: () => true,
  networkFacts: { tipHeightOf: () => null },
}

const ACTIONS: readonly { readonly name: string; readonly act: (world: InvoiceWorld) => boolean }[] = [
  { name: 'pay', act: (world) => world.pay(false) },
  { name: 'pay', act: (world) => world.pay(false) },
  { name: 'pay in a block', act: (world) => world.pay(true) },
  { name: 'mine', act: (world) => world.mine() },
  { name: 'mine', act: (world) => world.mine() },
  { name: 'mine', act: (world) => world.mine() },
  { name: 'tag', act: (world) => world.tag() },
  { name: 'tag', act: (world) => world.tag() },
  { name: 'reorganise', act: (world) => world.reorganise() },
  { name: 'replace', act: (world) => world.replace() },
  { name: 'come back', act: (world) => world.comeBack() },
  { name: 'choose', act: (world) => world.choose() },
  { name: 'time passes', act: (world) => world.passTime() },
  { name: 'deadline read', act: (world) => world.readDeadline() },
  { name: 'cancel', act: (world) => world.cancel() },
  { name: 'accept', act: (world) => world.resolve('accept') },
  { name: 'dismiss', act: (world) => world.resolve('dismiss') },
  { name: 'crash', act: (world) => world.crash() },
]
