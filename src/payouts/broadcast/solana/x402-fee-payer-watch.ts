import { isDue } from '../../../runtime/clock.ts'
import { readX402FeePayerBalance } from '../../store/read-fee-payer-balance.ts'
import { loadX402FeePayer, saveX402FeePayerReading, type X402FeePayer } from '../../store/x402-fee-payer.ts'
import type { SolanaParts } from './solana-parts.ts'

export type ReadFeePayer = NonNullable<X402FeePayer['reading']>

/** Bytes of a token account (SPL Token, `Account`). */
const TOKEN_ACCOUNT_BYTES = 165
/** While nobody pays by x402 the account is read this often: longer than five minutes, and nothing is accepted. */
const IDLE_INTERVAL_MS = 60_000
/** What a test cluster is asked for, 5 SOL, and how often at most. */
const AIRDROP = 5_000_000_000n
const AIRDROP_INTERVAL_MS = 30_000

type Parts = SolanaParts & { readonly givesCoins: boolean; readonly busyIntervalMs: number }

/**
 * Reads the account that pays the fees of x402 payments, for those that offer and try them. Where it runs low, a sandbox chain
 * funds it, before anybody pays; on any other the operator must.
 */
export class X402FeePayerWatch {
  readonly #parts: Parts
  #reading: ReadFeePayer | null = null
  #airdropAtMs = Number.NEGATIVE_INFINITY
  #isReported = false
  /** Coins for it are on their way. */
  awaitsCoins = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** Its newest reading, which is made anew where that is due; null before the signer has published the account. */
  async read(isBusy: boolean): Promise<ReadFeePayer | null> {
    const { pool, network, clock, providers, busyIntervalMs } = this.#parts
    const readAt = clock()
    const everyMs = isBusy || this.awaitsCoins ? busyIntervalMs : IDLE_INTERVAL_MS
    if (!isDue(this.#reading?.readAt.getTime() ?? Number.NEGATIVE_INFINITY, everyMs, readAt.getTime()))
      return this.#reading
    const feePayer = await loadX402FeePayer(pool, network)
    if (feePayer === null) return null
    const [account] = await providers.current.accountsAt([feePayer.address])
    const accountRent = await providers.current.rentExemptMinimum(TOKEN_ACCOUNT_BYTES)
    this.#reading = { lamports: account?.lamports ?? 0n, accountRent, readAt }
    await saveX402FeePayerReading(pool, network, this.#reading)
    await this.#watch(readAt.getTime())
    return this.#reading
  }

  async #watch(nowMs: number): Promise<void> {
    const { pool, network, log, givesCoins, providers } = this.#parts
    const balance = await readX402FeePayerBalance(pool, network)
    if (balance === null) return
    const { feePayer, held, isLow, isNeeded } = balance
    this.awaitsCoins = isLow && givesCoins
    if (this.awaitsCoins && isDue(this.#airdropAtMs, AIRDROP_INTERVAL_MS, nowMs)) {
      this.#airdropAtMs = nowMs
      await providers.current.requestAirdrop(feePayer, AIRDROP)
    }
    if (givesCoins || (isLow && isNeeded) === this.#isReported) return
    this.#isReported = !this.#isReported
    const about = { network, feePayer, lamports: held.toString() }
    if (this.#isReported)
      log.error(about, 'the fee payer of x402 payments on Solana runs low: send SOL to it, or they stop')
    else log.info(about, 'the fee payer of x402 payments on Solana has enough again')
  }
}
