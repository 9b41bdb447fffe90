import { GuessMemory } from './guess-memory.ts'

const WINDOW_MS = 60 * 60_000
/** Eight digits and a hundred tries an hour: a guess a century. */
const TRIES_OF_TILL_MAX = 100
const TRIES_OF_CALLER_MAX = 10
/** So many tills can be tried between two tries of one, and its tries are not forgotten. */
const TILLS_MAX = 100_000

/**
 * Tries of tills' staff codes, right or wrong. Callers are remembered apart from tills: a network has more addresses than
 * any memory, and what they do elsewhere must not make a till's tries be forgotten.
 */
export class StaffCodeTries {
  readonly #callers = new GuessMemory()
  readonly #tills = new GuessMemory(TILLS_MAX)

  /** Counts one try; false where the till or the caller has had theirs of this hour. */
  take(slug: string, caller: string, nowMs: number): boolean {
    const limit = { windowMs: WINDOW_MS, nowMs }
    return (
      this.#callers.take(caller, { ...limit, max: TRIES_OF_CALLER_MAX }) &&
      this.#tills.take(slug, { ...limit, max: TRIES_OF_TILL_MAX })
    )
  }
}
