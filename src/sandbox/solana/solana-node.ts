import type { KeyPairSigner } from '@solana/kit'
import type { Clock } from '../../clock.ts'
import type { SolanaBlock } from './chain-base.ts'
import type { SolanaChain } from './solana-chain.ts'

export const COMMITMENTS = ['processed', 'confirmed', 'finalized'] as const
export type Commitment = (typeof COMMITMENTS)[number]

/** Slots behind the newest block. Real ones: about two, and 32. */
export type CommitmentLag = { readonly confirmed: number; readonly finalized: number }

export type SolanaNodeOptions = {
  readonly chain: SolanaChain
  /** Holds the coins that test payments are made of. */
  readonly bank: KeyPairSigner
  readonly clock: Clock
  readonly lag: CommitmentLag
  /** Time between slots while something happens; 0: blocks come only when asked for. */
  readonly slotMs: number
  /** Every so manieth slot has no block; 0: none is skipped. */
  readonly skipEvery: number
  readonly onError: (error: unknown) => void
}

/**
 * A node of one validator: makes blocks while transactions wait or the newest ones are not finalized, and rests
 * otherwise.
 */
export class SolanaNode {
  readonly chain: SolanaChain
  readonly bank: KeyPairSigner
  readonly #options: SolanaNodeOptions
  #timer: NodeJS.Timeout | null = null
  #lag: CommitmentLag
  /** Blocks to make before resting: what was told last shall become final. */
  #owed: number

  constructor(options: SolanaNodeOptions) {
    this.chain = options.chain
    this.bank = options.bank
    this.#options = options
    this.#lag = options.lag
    this.#owed = options.lag.finalized + options.lag.confirmed
  }

  start(): void {
    if (this.#options.slotMs === 0) return
    this.#timer = setInterval(() => {
      try {
        this.#tick()
      } catch (error) {
        this.#options.onError(error)
      }
    }, this.#options.slotMs)
    this.#timer.unref()
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer)
  }

  /** The newest block of a commitment. */
  at(commitment: Commitment): SolanaBlock {
    if (commitment === 'processed') return this.chain.head
    return this.chain.blockBelowHead(commitment === 'confirmed' ? this.#lag.confirmed : this.#lag.finalized)
  }

  setLag(lag: CommitmentLag): void {
    this.#lag = lag
  }

  /** Makes so many blocks now; the first after `skipped` slots without one. */
  mine(count: number, skipped = 0): SolanaBlock {
    for (let made = 0; made < count; made++) this.#produce(made === 0 ? skipped : 0)
    return this.chain.head
  }

  #tick(): void {
    if (this.chain.pendingCount > 0) this.#owed = this.#lag.finalized + 1
    if (this.#owed <= 0) return
    this.#owed -= 1
    this.#produce(0)
  }

  /** Blocks are owed once more, so that what a fork put in place of others becomes final too. */
  wake(): void {
    this.#owed = this.#lag.finalized + 1
  }

  #produce(skipped: number): void {
    const { skipEvery } = this.#options
    let slot = this.chain.head.slot + 1 + skipped
    if (skipEvery > 0 && slot % skipEvery === 0) slot += 1
    this.chain.produce({ slot, timeSeconds: Math.floor(this.#options.clock().getTime() / 1_000) })
  }
}
