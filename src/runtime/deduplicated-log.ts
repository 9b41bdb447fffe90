import { LRUCache } from 'lru-cache'
import { entriesUpTo } from './cache-size.ts'

/** More than one look at all networks can say something of: payouts, sweeps and what their providers answer. */
export const REPORTED_MAX = 20_000

/**
 * A node's words without what differs from one look to the next in the same fault: heights, balances, prices, hashes.
 */
export const withoutNumbers = (message: string): string =>
  message.replace(/\b(0x)?[0-9a-f]*[0-9][0-9a-f]*\b/gi, '0')

/**
 * What was logged about payouts, sweeps and authorizations, so that it says each thing of each once as long as a process
 * runs. The newest are remembered; what was said longest ago may be said again.
 */
export class DeduplicatedLog {
  readonly #said = new LRUCache<string, true>(entriesUpTo(REPORTED_MAX))

  /** Whether this was not said of it before; from now on it was. `what`: the kind of alert, with its reason. */
  isNew(about: string, what: string): boolean {
    const line = `${about} ${what}`
    if (this.#said.has(line)) return false
    this.#said.set(line, true)
    return true
  }
}
