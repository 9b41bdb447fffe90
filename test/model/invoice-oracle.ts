import type { InvoiceStatus } from '../../src/core/invoice/types.ts'
import type { InvoiceWorld, WorldTransfer } from './invoice-world.ts'

const HORIZON_MS = 600_000
const FIRST_BLOCK_LIMIT_MS = 86_400_000
const DUST = 294n

/** What the oracle remembers of a transfer: its own reading of the rules, kept beside the program's. */
type Memory = {
  role: 'counts' | 'dust' | 'wrong_asset' | 'late' | 'cancelled' | 'surplus'
  answer: string | null
  final: boolean
  /** The block it is in, or was in last; empty before the first. */
  hash: string
}

/**
 * The rules of an invoice told a second time, over the world instead of over the invoice: from where each
 * transfer is, what its role was when it was first seen, and what the merchant decided.
 */
export class InvoiceOracle {
  private readonly memory = new Map<string, Memory>()
  private everSettled = false
  private accepted: Set<string> | null = null
  private lossDismissed = false
  /** Under way when the merchant accepted the rest: surplus as soon as the chain next says something. */
  private leftUnderWay: readonly Memory[] = []
  private readonly world: InvoiceWorld

  constructor(world: InvoiceWorld) {
    this.world = world
  }

  /** Follows one step of the world and says what the status must be now. */
  follow(step: string): InvoiceStatus {
    if (step === 'accept') this.accept()
    if (step === 'dismiss') this.dismiss()
    if (!/^(time|deadline|cancel|accept|dismiss|crash|choose)/.test(step)) this.observe()
    if (this.isSettled()) {
      this.everSettled = true
      this.lossDismissed = false
      const underWay = this.underWay()
      if (step === 'accept') this.leftUnderWay = underWay
      else for (const memory of underWay) if (!this.leftUnderWay.includes(memory)) memory.role = 'surplus'
    }
    return this.status()
  }

  private underWay(): Memory[] {
    return this.world.transfers.flatMap((transfer) => {
      const memory = this.memory.get(transfer.txid)
      const isUnderWay =
        memory?.role === 'counts' && memory.answer === null && isLive(transfer) && !memory.final
      return isUnderWay ? [memory] : []
    })
  }

  /** The ledger bucket where the transfer's whole value must stand. */
  bucketOf(transfer: WorldTransfer): string {
    const memory = this.memory.get(transfer.txid)
    if (memory === undefined || memory.role === 'dust' || typeof transfer.place !== 'number') return 'none'
    if (!memory.final) return 'pending'
    return memory.role === 'counts' || memory.answer !== null ? 'available' : 'suspense'
  }

  private observe(): void {
    for (const memory of this.leftUnderWay) if (memory.role === 'counts') memory.role = 'surplus'
    this.leftUnderWay = []
    const settledBefore = this.isSettledByMemory()
    for (const transfer of this.world.transfers) {
      const known = this.memory.get(transfer.txid)
      if (known === undefined && transfer.place !== 'gone') {
        this.memory.set(transfer.txid, {
          role: this.roleOf(transfer, settledBefore),
          answer: null,
          final: false,
          hash: '',
        })
      }
    }
    for (const transfer of this.world.transfers) {
      const memory = this.memory.get(transfer.txid)
      if (memory === undefined) continue
      if (typeof transfer.place !== 'number') memory.final = false
      else {
        if (memory.hash !== transfer.blockHash) memory.final = false
        if (memory.role === 'counts' && memory.hash === '') {
          const limit = this.world.invoice.expiresAtMs + FIRST_BLOCK_LIMIT_MS
          if (transfer.minedMs > limit) memory.role = 'late'
        }
        memory.hash = transfer.blockHash
        const required = this.world.invoice.confirmations[transfer.asset] ?? 0
        const { blockTags, tip } = this.world
        const enough =
          typeof required === 'number'
            ? tip - transfer.place + 1 >= required
            : transfer.place <= blockTags[required]
        if (enough) memory.final = true
      }
    }
  }

  /** Settled before this step's confirmations, but after what it took away. */
  private isSettledByMemory(): boolean {
    const stillThere = (transfer: WorldTransfer) => {
      const memory = this.memory.get(transfer.txid)
      return (
        memory?.final === true && typeof transfer.place === 'number' && memory.hash === transfer.blockHash
      )
    }
    return this.settledBy(stillThere)
  }

  private isSettled(): boolean {
    return this.settledBy((transfer) => this.memory.get(transfer.txid)?.final === true)
  }

  private settledBy(isFinal: (transfer: WorldTransfer) => boolean): boolean {
    const { accepted, world } = this
    if (accepted !== null && world.transfers.every((t) => !accepted.has(t.txid) || isFinal(t))) return true
    const sum = this.sum(isFinal)
    return sum > 0n && sum >= this.due() - world.invoice.toleranceUnder * this.unit()
  }

  /** Base units; where dollars are asked for, base units × 10⁻¹² dollar. */
  private due(): bigint {
    const { invoice, rates } = this.world
    return rates === null ? invoice.amount : 10n ** 8n * this.unit()
  }

  private unit(): bigint {
    return this.world.rates === null ? 1n : 10n ** 12n
  }

  private isOver(sum: bigint): boolean {
    const { invoice, rates } = this.world
    const excess = sum - this.due() - invoice.toleranceOver * this.unit()
    // What is less than a base unit of the dearer token nobody could have left out.
    return rates === null ? excess > 0n : excess >= (rates.LTC > rates.BTC ? rates.LTC : rates.BTC)
  }

  private sum(isFinal: (transfer: WorldTransfer) => boolean): bigint {
    return this.world.transfers
      .filter((transfer) => this.counts(transfer) && isFinal(transfer))
      .reduce((sum, { amount, asset }) => sum + amount * (this.world.rates?.[asset] ?? 1n), 0n)
  }

  private counts(transfer: WorldTransfer): boolean {
    const memory = this.memory.get(transfer.txid)
    if (memory === undefined || !this.isAskedFor(transfer) || memory.role === 'dust') return false
    return memory.role === 'counts' || memory.answer === 'accepted'
  }

  /** Whether money of this network pays the invoice. */
  private isAskedFor({ asset }: WorldTransfer): boolean {
    return asset === 'LTC' || this.world.isAnyNetwork
  }

  private roleOf(transfer: WorldTransfer, settled: boolean): Memory['role'] {
    const { invoice } = this.world
    if (transfer.amount < DUST) return 'dust'
    if (!this.isAskedFor(transfer)) return 'wrong_asset'
    if (settled) return 'surplus'
    if (invoice.cancelledAtMs !== null) {
      return transfer.firstSeenMs - invoice.cancelledAtMs <= HORIZON_MS ? 'cancelled' : 'late'
    }
    return transfer.firstSeenMs - invoice.expiresAtMs <= HORIZON_MS ? 'counts' : 'late'
  }

  private accept(): void {
    this.accepted = new Set()
    for (const transfer of this.world.transfers) {
      const memory = this.memory.get(transfer.txid)
      if (memory === undefined || memory.role === 'dust') continue
      if (memory.final) {
        memory.answer = 'accepted'
        this.accepted.add(transfer.txid)
      } else if (memory.answer === 'accepted') memory.answer = null
    }
  }

  private dismiss(): void {
    if (this.everSettled && !this.isSettled()) this.lossDismissed = true
    for (const transfer of this.world.transfers) {
      const memory = this.memory.get(transfer.txid)
      if (memory !== undefined && this.isOpenReview(transfer, memory)) memory.answer = 'dismissed'
    }
  }

  private isOpenReview(transfer: WorldTransfer, memory: Memory): boolean {
    return isLive(transfer) && memory.answer === null && memory.role !== 'counts' && memory.role !== 'dust'
  }

  private status(): InvoiceStatus {
    const { invoice, transfers } = this.world
    const isFinal = (transfer: WorldTransfer) => this.memory.get(transfer.txid)?.final === true
    const { accepted } = this
    if (accepted !== null && transfers.every((t) => !accepted.has(t.txid) || isFinal(t))) return 'paid'
    if (this.isSettled()) return this.isOver(this.sum(isFinal)) ? 'overpaid' : 'paid'
    if (this.everSettled && !this.lossDismissed) return 'manual_review'
    const followed = transfers.filter((transfer) => {
      const memory = this.memory.get(transfer.txid)
      if (memory === undefined || !isLive(transfer) || memory.final) return false
      return this.counts(transfer) || (memory.role === 'cancelled' && memory.answer === null)
    })
    if (followed.some((transfer) => transfer.place !== null)) return 'confirming'
    if (followed.length > 0) return 'payment_detected'
    const isReview = (transfer: WorldTransfer) => {
      const memory = this.memory.get(transfer.txid)
      if (memory === undefined || !this.isOpenReview(transfer, memory)) return false
      return memory.role === 'late' || memory.role === 'cancelled'
    }
    if (transfers.some(isReview)) return 'manual_review'
    if (this.sum(isFinal) > 0n) return 'partially_paid'
    if (invoice.cancelledAtMs !== null) return 'cancelled'
    return invoice.expiredAtMs === null ? 'awaiting_payment' : 'expired'
  }
}

function isLive(transfer: WorldTransfer): boolean {
  return transfer.place !== 'gone'
}
