import type { KeyPairSigner } from '@solana/kit'
import type { Clock } from '../../runtime/clock.ts'
import type { SolanaBlock } from './chain-base.ts'
import type { SolanaChain } from './solana-chain.ts'

export const COMMITMENTS = ['processed', 'confirmed', 'finalized'] as const
export type Commitment = (typeof COMMITMENTS)[number]

/** Slots behind the newest block. Real ones: about two, and 32. */
export type CommitmentLag = { readonly confirmed: number; readonly finalized: number }

type SolanaNodeOptions = {
  readonly chain: SolanaChain
  /** Holds the coins that test payments are made of. */
  readonly bank: KeyPairSigner
  readonly clock: Clock
  readonly lag: CommitmentLag
  /** Time between slots while something happens; 0: blocks come only when asked for. */
  readonly slotMs: number
  /** One slot in this many has no block; 0: none is skipped. */
  readonly skipEvery: number
  readonly onError: (error: unknown) => void
}

const BLOCKS_PER_TICK = 10
/** A caller that holds finality back and goes away holds it no longer than this. */
const HELD_MS_MAX = 30_000

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
  /** Blocks to make before resting: what was reported last shall become final. */
  #owed: number
  /** No later block is called finalized meanwhile, so that a fork may still take it away. */
  #finalHeld: { readonly slot: number; readonly untilMs: number } | null = null

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
    if (commitment === 'confirmed') return this.chain.blockBelowHead(this.#lag.confirmed)
    const finalized = this.chain.blockBelowHead(this.#lag.finalized)
    const held = this.#finalHeld
    if (held === null || finalized.slot <= held.slot || this.#nowMs() > held.untilMs) return finalized
    return this.chain.blockAt(held.slot) ?? finalized
  }

  /** Calls no further block finalized, or all that are due again. */
  holdFinality(isHeld: boolean): void {
    const slot = this.at('finalized').slot
    this.#finalHeld = isHeld ? { slot, untilMs: this.#nowMs() + HELD_MS_MAX } : null
  }

  setLag(lag: CommitmentLag): void {
    this.#lag = lag
  }

  /** Makes `count` blocks now, the first after `skipped` slots without one. */
  mine(count: number, skipped = 0): SolanaBlock {
    for (let made = 0; made < count; made++) this.#produce(made === 0 ? skipped : 0)
    return this.chain.head
  }

  #tick(): void {
    if (this.chain.pendingCount > 0) this.#owed = Math.max(this.#owed, this.#lag.finalized + 1)
    // Blocks that only let a blockhash grow old are made several at a time: nobody waits for them.
    const count = this.#owed > BLOCKS_PER_TICK * 5 ? BLOCKS_PER_TICK : Math.min(1, this.#owed)
    for (let made = 0; made < count; made++) this.#produce(0)
    this.#owed -= count
  }

  /** Blocks are owed once more, so that what a fork put in place of others becomes final too. */
  wake(blocks = 0): void {
    this.#owed = Math.max(this.#owed, blocks + this.#lag.finalized + 1)
  }

  #nowMs(): number {
    return this.#options.clock().getTime()
  }

  #produce(skipped: number): void {
    const { skipEvery } = this.#options
    let slot = this.chain.head.slot + 1 + skipped
    if (skipEvery > 0 && slot % skipEvery === 0) slot += 1
    this.chain.produce({ slot, timeSeconds: Math.floor(this.#options.clock().getTime() / 1_000) })
  }
}
