import type { SolanaRpc } from '../../../chain/solana/solana-rpc.ts'
import { ownerOf } from '../../../chain/solana/watched-owners.ts'
import { keyspaceOfNetwork, type Network } from '../../../core/assets.ts'
import { LAMPORTS_PER_SIGNATURE } from '../../../core/payout/solana-fee.ts'
import type { Pool } from '../../../postgres/pool.ts'
import type { Clock } from '../../../runtime/clock.ts'
import type { Log } from '../../../runtime/log.ts'
import { newId } from '../../../runtime/new-id.ts'
import type { SolanaReading } from '../../store/solana-accounts.ts'
import { listAddressesToFund, listAddressesToReclaim } from '../../store/solana-funding.ts'
import { insertSolanaChore, type OpenChore } from '../../store/solana-maintenance.ts'
import type { PayoutProviders } from '../payout-providers.ts'

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

type Parts = {
  readonly network: Network
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly providers: PayoutProviders<SolanaRpc>
}

/**
 * Puts on deposit addresses what an account must hold, for wallets that pay no address that holds nothing
 * (`@solana/pay` up to 0.2.5), where the merchant asks for it; and takes it back. The operator's fee payer pays.
 */
export class SolanaFunding {
  readonly #parts: Parts
  /** The last address that was looked at for its funds. */
  #reclaimedTo = -1
  #isLow = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Indexes of the addresses to fund next. */
  async wanted(): Promise<readonly number[]> {
    const { pool, network, clock } = this.#parts
    const place = { network, keyspace: keyspaceOfNetwork(network), limit: OPEN_MAX }
    return listAddressesToFund(pool, place, { perMerchant: PER_MERCHANT, now: clock() })
  }

  async ask(reading: SolanaReading, wanted: readonly number[], open: readonly OpenChore[]): Promise<void> {
    let free = OPEN_MAX - open.filter(({ chore }) => chore.kind === 'fund' || chore.kind === 'reclaim').length
    let spare = reading.feePayerLamports - reading.rentExempt - FEE_PAYER_KEEPS
    for (const index of wanted.slice(0, Math.max(0, free))) {
      spare -= reading.rentExempt + LAMPORTS_PER_SIGNATURE
      if (spare < 0n) break
      await this.#insert('fund', { index, lamports: reading.rentExempt })
      free--
    }
    if (wanted.length > 0) this.#tell(spare < 0n)
    // Also while some wait to be funded: what comes back is what they wait for.
    if (free > 0) await this.#reclaim(free)
  }

  /** Takes back what lies on addresses that nobody pays any more, where nothing else lies there. */
  async #reclaim(free: number): Promise<void> {
    const { pool, network, clock, providers } = this.#parts
    const closedBefore = new Date(clock().getTime() - RECLAIM_AFTER_MS)
    const place = { network, keyspace: keyspaceOfNetwork(network), limit: RECLAIM_PAGE }
    const found = await listAddressesToReclaim(pool, place, { above: this.#reclaimedTo, closedBefore })
    const accounts =
      found.length === 0
        ? []
        : await providers.current.finalizedAccounts(found.map(({ program }) => ownerOf(program)))
    let asked = 0
    for (const [at, { index, given }] of found.entries()) {
      if (asked === free) return
      this.#reclaimedTo = index
      if (accounts[at]?.lamports !== given) continue
      await this.#insert('reclaim', { index, lamports: given })
      asked++
    }
    if (found.length < RECLAIM_PAGE) this.#reclaimedTo = -1
  }

  async #insert(
    kind: 'fund' | 'reclaim',
    source: { readonly index: number; readonly lamports: bigint },
  ): Promise<void> {
    const { pool, network, clock } = this.#parts
    const now = clock()
    await insertSolanaChore(pool, network, { kind, id: newId('chore', now), sources: [source] }, now)
  }

  #tell(isLow: boolean): void {
    const { log, network } = this.#parts
    if (isLow && !this.#isLow)
      log.warn({ network }, 'the fee payer has too little SOL to fund addresses: they are given out unfunded')
    this.#isLow = isLow
  }
}
