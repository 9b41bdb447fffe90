import { ACCOUNTS_PER_CALL } from './solana-rpc.ts'
import type { WatchedOwners } from './watched-owners.ts'

/** So many are looked at in each round. */
const CLOSED_PER_ROUND = ACCOUNTS_PER_CALL

/** The owners that are not looked at in every round, in turns: what is paid late is found too, only later. */
export class ClosedOwners {
  #from = 0

  /** The next few. */
  next(watched: WatchedOwners, others: ReadonlySet<string>): string[] {
    if (this.#from >= watched.size) this.#from = 0
    const slice: string[] = []
    let index = 0
    for (const owner of watched) {
      if (index >= this.#from && !others.has(owner)) slice.push(owner)
      index += 1
      if (slice.length >= CLOSED_PER_ROUND) break
    }
    this.#from = slice.length < CLOSED_PER_ROUND ? 0 : index
    return slice
  }
}
