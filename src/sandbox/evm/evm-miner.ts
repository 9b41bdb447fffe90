import type { EvmChain } from './evm-chain.ts'

/** After the last transaction: until its block is final, and some more for whoever counts. */
const BLOCKS_AFTER_LAST_TRANSACTION = 5
/** An idle chain still moves, because a watch on an address closes by the time of a block. */
const IDLE_BLOCK_INTERVAL_MS = 10 * 60_000
/** A caller that keeps the chain still and does not come back keeps it no longer than this. */
const STILL_MS_MAX = 120_000

/** Makes blocks by itself. An interval of 0 makes none: then blocks come only when they are asked for. */
export class EvmMiner {
  readonly #chain: EvmChain
  readonly #blockIntervalMs: number
  readonly #onError: (error: unknown) => void
  #timer: NodeJS.Timeout | null = null
  #blocksLeft = BLOCKS_AFTER_LAST_TRANSACTION
  #stillUntil = 0
  #stopped = false
  #working: Promise<void> = Promise.resolve()

  constructor(options: { chain: EvmChain; blockIntervalMs: number; onError: (error: unknown) => void }) {
    this.#chain = options.chain
    this.#blockIntervalMs = options.blockIntervalMs
    this.#onError = options.onError
  }

  start(): void {
    this.#schedule()
  }

  /** A transaction came in: the next block is one interval away at most. */
  wake(): void {
    const wasIdle = this.#blocksLeft === 0
    this.#blocksLeft = BLOCKS_AFTER_LAST_TRANSACTION
    if (wasIdle) this.#schedule()
  }

  /** No block by itself until `goOn`. False where somebody else keeps the chain still already. */
  keepStill(): boolean {
    if (this.isStill) return false
    this.#stillUntil = performance.now() + STILL_MS_MAX
    return true
  }

  get isStill(): boolean {
    return performance.now() < this.#stillUntil
  }

  goOn(): void {
    this.#stillUntil = 0
    this.wake()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#working
  }

  #schedule(): void {
    if (this.#blockIntervalMs === 0 || this.#stopped) return
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(
      () => {
        this.#working = this.#tick()
      },
      this.#blocksLeft === 0 ? IDLE_BLOCK_INTERVAL_MS : this.#blockIntervalMs,
    )
    // The chain alone keeps no process alive.
    this.#timer.unref()
  }

  async #tick(): Promise<void> {
    try {
      if (!this.isStill) {
        const { txids } = await this.#chain.mine()
        this.#blocksLeft =
          txids.length > 0 ? BLOCKS_AFTER_LAST_TRANSACTION : Math.max(0, this.#blocksLeft - 1)
        if (this.#blocksLeft === 0) await this.#chain.compact()
      }
    } catch (error) {
      // A full disk passes, and anvil is started again; the next block tries again.
      this.#onError(error)
    }
    this.#schedule()
  }
}
