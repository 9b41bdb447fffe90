import { LRUCache } from 'lru-cache'

/** Subjects that are remembered at once; the one that was guessed at longest ago is forgotten first. */
const SUBJECTS_MAX = 10_000

/**
 * Guesses at a secret as this process has seen them. The database counts them for all processes, but an attacker with SQL
 * could reset those counts, and not these.
 */
export class GuessMemory {
  readonly #counts: LRUCache<string, { guesses: number; readonly sinceMs: number }>

  constructor(max: number = SUBJECTS_MAX) {
    this.#counts = new LRUCache({ max })
  }

  /** Counts one guess; false where the subject has had its guesses of this window. */
  take(subject: string, limit: { max: number; windowMs: number; nowMs: number }): boolean {
    const known = this.#counts.get(subject)
    if (known !== undefined && known.sinceMs > limit.nowMs - limit.windowMs) {
      if (known.guesses >= limit.max) return false
      known.guesses += 1
      return true
    }
    this.#counts.set(subject, { guesses: 1, sinceMs: limit.nowMs })
    return true
  }

  forget(subject: string): void {
    this.#counts.delete(subject)
  }
}
