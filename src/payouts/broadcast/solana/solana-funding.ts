import { ownerOf } from '../../../chain/solana/watched-owners.ts'
import { keyspaceOfNetwork } from '../../../core/assets.ts'
import { LAMPORTS_PER_SIGNATURE, SWEEP_SOURCES_MAX } from '../../../core/payout/solana-fee.ts'
import { isDue } from '../../../runtime/clock.ts'
import { newId } from '../../../runtime/new-id.ts'
import { listSweptSources } from '../../store/deposit-owners.ts'
import type { SolanaReading } from '../../store/solana-accounts.ts'
import {
  type FundedAddress,
  listAddressesToFund,
  listAddressesToReclaim,
} from '../../store/solana-funding.ts'
import { insertMaintenance, type OpenMaintenance, type SweepSource } from '../../store/solana-maintenance.ts'
import type { SolanaParts } from './solana-parts.ts'

/** Transactions under way that fund addresses, or reclaim what was put there. */
const OPEN_MAX = 10
/** Funded addresses of a merchant, so that nobody's checkouts tie up all that the fee payer has. */
const PER_MERCHANT = 100
/** What the fee payer keeps for payouts and sweeps, lamports: 0.02 SOL. */
const FEE_PAYER_KEEPS = 20_000_000n
/** So long after an invoice has ended a late payment by the same wallets still finds the address. */
const RECLAIM_AFTER_MS = 7 * 24 * 3_600_000
/** Funded addresses looked at in one turn: one call's worth. */
const RECLAIM_PAGE = 100
const DUST_INTERVAL_MS = 60_000

type Unnamed =
  | { readonly kind: 'sweep'; readonly sources: readonly SweepSource[] }
  | { readonly kind: 'fund' | 'reclaim'; readonly sources: readonly [SweepSource] }
type DustyAddress = FundedAddress & { readonly beyond: bigint }

type Parts = Omit<SolanaParts, 'sealer' | 'tokens'>

/**
 * Puts on deposit addresses what an account must hold, for wallets that pay no address that holds nothing
 * (`@solana/pay` up to 0.2.5), where the merchant asks for it; and takes it back. The operator's fee payer pays.
 */
export class SolanaFunding {
  readonly #parts: Parts
  /** The last address that was looked at for its funds. */
  #reclaimedTo = -1
  #isLow = false
  #sweptDustAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Indexes of the addresses to fund next. */
  async wanted(): Promise<readonly number[]> {
    const { pool, network, clock } = this.#parts
    const place = { network, keyspace: keyspaceOfNetwork(network), limit: OPEN_MAX }
    return listAddressesToFund(pool, place, { perMerchant: PER_MERCHANT, now: clock() })
  }

  async ask(
    reading: SolanaReading,
    wanted: readonly number[],
    open: readonly OpenMaintenance[],
  ): Promise<void> {
    let free =
      OPEN_MAX -
      open.filter(({ maintenance }) => maintenance.kind === 'fund' || maintenance.kind === 'reclaim').length
    let spare = reading.feePayerLamports - reading.rentExempt - FEE_PAYER_KEEPS
    for (const index of wanted.slice(0, Math.max(0, free))) {
      spare -= reading.rentExempt + LAMPORTS_PER_SIGNATURE
      if (spare < 0n) break
      await this.#insert({ kind: 'fund', sources: [{ index, lamports: reading.rentExempt }] })
      free--
    }
    if (wanted.length > 0) this.#reportBalance(spare < 0n)
    // Also while some wait to be funded: what comes back is what they wait for.
    // Into a vault that is there, and while nothing else is on its way there.
    const mayEmpty =
      reading.vaultLamports >= reading.rentExempt &&
      !open.some(({ maintenance }) => maintenance.kind === 'sweep')
    if (free > 0) await this.#reclaim(free, mayEmpty)
  }

  /** Takes back what lies on addresses that nobody pays any more, where nothing else lies there. */
  async #reclaim(free: number, mayEmpty: boolean): Promise<void> {
    const { pool, network, clock, providers } = this.#parts
    const closedBefore = new Date(clock().getTime() - RECLAIM_AFTER_MS)
    const place = { network, keyspace: keyspaceOfNetwork(network), limit: RECLAIM_PAGE }
    const found = await listAddressesToReclaim(pool, place, { above: this.#reclaimedTo, closedBefore })
    const accounts =
      found.length === 0
        ? []
        : await providers.current.accountsAt(found.map(({ addressBytes }) => ownerOf(addressBytes)))
    let requested = 0
    const dusty: DustyAddress[] = []
    for (const [at, address] of found.entries()) {
      if (requested === free) break
      const { index, given } = address
      const beyond = (accounts[at]?.lamports ?? 0n) - given
      this.#reclaimedTo = index
      if (beyond > 0n && beyond < given) dusty.push({ ...address, beyond })
      if (beyond !== 0n) continue
      await this.#insert({ kind: 'reclaim', sources: [{ index, lamports: given }] })
      requested++
    }
    if (requested < free && found.length < RECLAIM_PAGE) this.#reclaimedTo = -1
    if (mayEmpty) await this.#sweepDust(dusty)
  }

  /**
   * Anybody can send a little to an address, which no payout may ever need: it goes into the vault for its merchant, so that
   * what the fee payer put there can come back. One sweep a minute, so that payouts' own are not held up; what is not in
   * the books is left alone until it is.
   */
  async #sweepDust(dusty: readonly DustyAddress[]): Promise<void> {
    const { pool, network, clock } = this.#parts
    const nowMs = clock().getTime()
    if (dusty.length === 0 || !isDue(this.#sweptDustAtMs, DUST_INTERVAL_MS, nowMs)) return
    const beyond = new Map(dusty.map((address) => [address.index, address.beyond]))
    const place = { network, keyspace: keyspaceOfNetwork(network), asset: 'SOL' } as const
    const booked = (
      await listSweptSources(
        pool,
        place,
        dusty.map(({ addressBytes }) => addressBytes),
      )
    ).filter(({ index, expected }) => expected === beyond.get(index))
    const [first] = booked
    if (first === undefined) return
    this.#sweptDustAtMs = nowMs
    const ofOne = booked.filter(({ merchantId }) => merchantId === first.merchantId)
    const sources = ofOne
      .slice(0, SWEEP_SOURCES_MAX)
      .map(({ index, expected }) => ({ index, lamports: expected }))
    await this.#insert({ kind: 'sweep', sources })
  }

  async #insert(maintenance: Unnamed): Promise<void> {
    const { pool, network, clock } = this.#parts
    const now = clock()
    await insertMaintenance(pool, network, { ...maintenance, id: newId('maintenance', now) }, now)
  }

  #reportBalance(isLow: boolean): void {
    const { log, network } = this.#parts
    if (isLow && !this.#isLow)
      log.warn({ network }, 'the fee payer has too little SOL to fund addresses: they are given out unfunded')
    this.#isLow = isLow
  }
}
