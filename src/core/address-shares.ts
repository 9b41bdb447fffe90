import type { Keyspace } from './assets.ts'

/** What was taken in the last minute counts in full, what was taken before that ever less. */
const WINDOW_MS = 60_000
/** So many in a minute are nobody's flood, however few others take any. */
const FREE_PER_WINDOW = 5
/** Merchants counted in one window; a full one ends early, and its counts fade as those of any other. */
const MERCHANTS_MAX = 10_000

/**
 * Addresses of a pool that are left to merchants who took no more than their share: far fewer than the half of the smallest
 * full pool at which the signer fills it again, so that a pool which only one merchant takes from is filled too.
 */
export const RESERVED_ADDRESSES = 30

type Window = { startMs: number; before: Map<string, number>; now: Map<string, number> }

/** Counts in memory who takes addresses, so that while a pool runs low those who took most come last. */
export class AddressShares {
  readonly #windows = new Map<Keyspace, Window>()

  took(keyspace: Keyspace, merchantId: string, nowMs: number): void {
    const { now } = this.#windowAt(keyspace, nowMs)
    now.set(merchantId, (now.get(merchantId) ?? 0) + 1)
  }

  /** Addresses that must be left after this merchant takes one: none where it took less than others on average. */
  toLeave(keyspace: Keyspace, merchantId: string, nowMs: number): number {
    const window = this.#windowAt(keyspace, nowMs)
    const rest = Math.max(0, 1 - (nowMs - window.startMs) / WINDOW_MS)
    const takenBy = (id: string) => (window.now.get(id) ?? 0) + rest * (window.before.get(id) ?? 0)
    const own = takenBy(merchantId)
    if (own <= FREE_PER_WINDOW) return 0
    const merchants = new Set([...window.now.keys(), ...window.before.keys()])
    const all = [...merchants].reduce((sum, id) => sum + takenBy(id), 0)
    return own * merchants.size >= all ? RESERVED_ADDRESSES : 0
  }

  #windowAt(keyspace: Keyspace, nowMs: number): Window {
    const known = this.#windows.get(keyspace)
    const isOpen = known !== undefined && nowMs - known.startMs < WINDOW_MS
    if (isOpen && known.now.size < MERCHANTS_MAX) return known
    const isNext = known !== undefined && nowMs - known.startMs < 2 * WINDOW_MS
    const window = { startMs: nowMs, before: isNext ? known.now : new Map(), now: new Map() }
    this.#windows.set(keyspace, window)
    return window
  }
}
