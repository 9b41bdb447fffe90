import type { Clock } from '../../runtime/clock.ts'
import type { ChainState } from './chain-state.ts'

/**
 * While something happens a block comes every interval: as long as transactions wait, and for some blocks after,
 * so that what asks for several confirmations gets them.
 */
const BLOCKS_AFTER_LAST_TRANSACTION = 30
/**
 * An idle chain still moves, because a watch on an address closes by the time of a block; this seldom costs
 * nothing and adds some 150 MB a year to the journal.
 */
const IDLE_BLOCK_INTERVAL_MS = 60_000

/** Makes blocks by itself. An interval of 0 makes none: then blocks come only when they are asked for. */
export class Miner {
  private readonly state: ChainState
  private readonly clock: Clock
  private readonly blockIntervalMs: number
  private readonly onError: (error: unknown) => void
  private timer: NodeJS.Timeout | null = null
  private timerIsIdle = false
  private blocksSinceTransaction = 0

  constructor(options: {
    state: ChainState
    clock: Clock
    blockIntervalMs: number
    onError: (error: unknown) => void
  }) {
    this.state = options.state
    this.clock = options.clock
    this.blockIntervalMs = options.blockIntervalMs
    this.onError = options.onError
  }

  start(): void {
    if (this.state.mempool.size === 0) this.blocksSinceTransaction = BLOCKS_AFTER_LAST_TRANSACTION
    this.schedule()
  }

  /** A transaction came in, or one that was held may go: the next block is one interval away at most. */
  wake(): void {
    this.blocksSinceTransaction = 0
    if (this.timer === null || !this.timerIsIdle) return
    clearTimeout(this.timer)
    this.schedule()
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
  }

  private schedule(): void {
    if (this.blockIntervalMs === 0) return
    this.timerIsIdle = this.blocksSinceTransaction >= BLOCKS_AFTER_LAST_TRANSACTION
    const pauseMs = this.timerIsIdle ? IDLE_BLOCK_INTERVAL_MS : this.blockIntervalMs
    this.timer = setTimeout(() => this.tick(), pauseMs)
    // The chain alone keeps no process alive.
    this.timer.unref()
  }

  private tick(): void {
    try {
      this.state.mine(this.clock().getTime())
      this.blocksSinceTransaction = this.state.mempool.size > 0 ? 0 : this.blocksSinceTransaction + 1
    } catch (error) {
      // A full disk passes; the next block tries again.
      this.onError(error)
    }
    this.schedule()
  }
}
