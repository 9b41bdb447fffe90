import { keyFamilyOfNetwork, type Network } from '../../core/assets.ts'
import type { Pool } from '../../postgres/pool.ts'
import { type Clock, isDue } from '../../runtime/clock.ts'
import type { Log } from '../../runtime/log.ts'
import { type Outcome, sealOutcome, sealReading, txidOf } from '../../secrets/outcome-key.ts'
import type { SigningKey } from '../../secrets/signing-key.ts'
import { type PageBefore, saveOutcomeSeal } from '../store/outcome-seals.ts'

/** What nobody sealed is looked for this often, so many at a time. */
const UNSEALED_EVERY_MS = 60_000
const UNSEALED_MAX = 50

/**
 * Outcomes without a seal, or with one that the signer refused: written by an earlier release, a watcher with another
 * key, or a thief. One page a minute, newest first. What no chain confirms stays unsealed, and does not block the rest.
 */
export class UnsealedPages<Row> {
  readonly #list: (page: PageBefore) => Promise<readonly Row[]>
  readonly #idOf: (row: Row) => string
  #readAtMs = Number.NEGATIVE_INFINITY
  #before: string | null = null

  constructor(list: (page: PageBefore) => Promise<readonly Row[]>, idOf: (row: Row) => string) {
    this.#list = list
    this.#idOf = idOf
  }

  /** Null until the next page is due. */
  async next(nowMs: number): Promise<readonly Row[] | null> {
    if (!isDue(this.#readAtMs, UNSEALED_EVERY_MS, nowMs)) return null
    this.#readAtMs = nowMs
    const rows = await this.#list({ before: this.#before, limit: UNSEALED_MAX })
    const last = rows.length < UNSEALED_MAX ? undefined : rows.at(-1)
    this.#before = last === undefined ? null : this.#idOf(last)
    return rows
  }
}

type Parts = {
  readonly network: Network
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  /** Null in a process that was given none. */
  readonly key: SigningKey | null
}

/**
 * Seals what this process has just seen on a chain, for the signer, which asks no node and believes no row. A seal is written
 * before the row that it is about: after a crash in between, one that is true stands there alone.
 */
export class OutcomeSealer {
  readonly #parts: Parts
  #isReported = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** The signer uses outcomes of sweeps and payouts only where merchants share a wallet. */
  get isNeeded(): boolean {
    const family = keyFamilyOfNetwork(this.#parts.network)
    return family === 'evm' || family === 'solana'
  }

  /** A sweep's transaction is in a block, and did what it was to do. */
  landed(txid: string): Promise<void> {
    return this.#seal({ kind: 'landed', network: this.#parts.network, txid })
  }

  /** None of a payout's transactions, oldest first, pays any more. */
  async failed(payoutId: string, txids: readonly string[]): Promise<void> {
    if (txids.length > 0) await this.#seal({ kind: 'failed', network: this.#parts.network, payoutId, txids })
  }

  /** Which nonce of a deposit address (20 bytes) is its next, by the chain and by what was signed. */
  nextNonce(address: Uint8Array, nonce: number): Promise<void> {
    const { network } = this.#parts
    return this.#seal({ kind: 'next_nonce', network, address: Buffer.from(address).toString('hex'), nonce })
  }

  /** The seal of what this process has just read of the network's hot wallet; null where it has no key. */
  reading(text: string): Buffer | null {
    const key = this.#key()
    return key === null ? null : sealReading(key, text)
  }

  async #seal(outcome: Outcome): Promise<void> {
    const { pool, clock, network } = this.#parts
    const key = this.isNeeded ? this.#key() : null
    if (key === null) return
    const seal = sealOutcome(key, outcome)
    const { kind } = outcome
    await saveOutcomeSeal(pool, { network, kind, txid: txidOf(outcome), seal, now: clock() })
  }

  #key(): SigningKey | null {
    const { key, log, network } = this.#parts
    if (key !== null || this.#isReported) return key
    this.#isReported = true
    log.error(
      { network },
      'hot wallets, sweeps and failed payouts are not sealed, and the signer counts none of them: give the watcher WATCHER_KEY, which paylink watcher-key prints where SECRET_KEY is known',
    )
    return null
  }
}
