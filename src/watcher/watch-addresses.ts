import type { ChainAdapter } from '../chain/adapter.ts'
import { keyspaceOfNetwork } from '../core/assets.ts'
import { beginWatch, raiseWatch } from '../db/chain/network-watch.ts'
import { streamAddresses } from '../db/chain/watched-addresses.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Pause } from '../runtime/activity.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { Leadership } from './leadership.ts'

/** How often new addresses are looked for. */
const WATCH_INTERVAL_MS = 250

/** Loads a network's addresses into its adapter while this process leads, and records how far. */
export class AddressWatch {
  readonly #parts: { adapter: ChainAdapter; pool: Pool; clock: Clock; log: Log }
  readonly #leadership: Leadership
  #lastIndex = -1
  /** What network_watch says; null before this session wrote it. */
  #watchedThrough: number | null = null

  constructor(parts: { adapter: ChainAdapter; pool: Pool; clock: Clock; log: Log }, leadership: Leadership) {
    this.#parts = parts
    this.#leadership = leadership
  }

  /**
   * Loads newly added addresses, then records how far: only an address that is matched here may be handed out.
   * Recording the watch before the first address is loaded holds back those added meanwhile.
   */
  async load(): Promise<void> {
    const { adapter, pool, clock } = this.#parts
    const { network } = adapter
    const keyspace = keyspaceOfNetwork(network)
    if (this.#watchedThrough === null) {
      await beginWatch(
        this.#leadership.connection,
        { network, keyspace, term: this.#leadership.term },
        clock(),
      )
      this.#watchedThrough = -1
    }
    for await (const page of streamAddresses(pool, keyspace, this.#lastIndex)) {
      adapter.watched.add(page.addresses)
      this.#lastIndex = Math.max(this.#lastIndex, page.lastIndex)
    }
    const through = this.#lastIndex
    if (through <= this.#watchedThrough) return
    await raiseWatch(this.#leadership.connection, network, through, clock())
    this.#watchedThrough = through
  }

  /** Runs beside the following, even while the node is away: a sale needs no node. */
  async keep(stop: AbortSignal, pause: Pause): Promise<void> {
    const { adapter, log } = this.#parts
    while (!stop.aborted) {
      try {
        await this.load()
      } catch (error) {
        if (!stop.aborted)
          log.error({ err: error, network: adapter.network }, 'new addresses could not be loaded')
      }
      await pause(stop, WATCH_INTERVAL_MS)
    }
  }
}
