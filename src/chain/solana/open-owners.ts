import type { PaymentAsset } from '../../core/assets.ts'
import type { IsAsked, Open } from './read-balances.ts'
import { ownerOf, type WatchedOwners } from './watched-owners.ts'

/** Open checkouts are listed again after this multiple of the time that listing took, so that it costs a small share of the time. */
const INTERVAL_TIMES = 10
const INTERVAL_MS_MAX = 500

/** A token in which somebody may pay to an address. */
type AskedToken = { readonly addressBytes: Uint8Array; readonly asset: PaymentAsset }

export type OpenOwnersOptions = {
  /** Owners that somebody may pay at a moment of the chain's own time. Absent: all that are watched. */
  readonly openAddresses?: (at: Date) => Promise<readonly Uint8Array[]>
  /** In what tokens these may be paid at that moment. Absent: in all. */
  readonly askedTokens?: (at: Date) => Promise<readonly AskedToken[]>
}

/** The owners that somebody may pay, and in what, listed anew after a while. */
export class OpenOwners {
  readonly #options: OpenOwnersOptions
  readonly #watched: WatchedOwners
  /** When by `performance.now()` they are listed again. */
  #untilMs = 0
  #listed: Open = { owners: [], isAsked: null }

  constructor(options: OpenOwnersOptions, watched: WatchedOwners) {
    this.#options = options
    this.#watched = watched
  }

  async at(timeMs: number): Promise<Open> {
    const { openAddresses, askedTokens } = this.#options
    if (openAddresses === undefined) return { owners: [...this.#watched], isAsked: null }
    const beganMs = performance.now()
    if (beganMs < this.#untilMs) return this.#listed
    const at = new Date(timeMs)
    const owners = new Set((await openAddresses(at)).map(ownerOf))
    const asked = await askedTokens?.(at)
    const endedMs = performance.now()
    this.#untilMs = endedMs + Math.min(INTERVAL_MS_MAX, (endedMs - beganMs) * INTERVAL_TIMES)
    this.#listed = {
      owners: [...owners].filter((owner) => this.#watched.has(owner)),
      isAsked: asked === undefined ? null : isAskedIn(asked),
    }
    return this.#listed
  }
}

function isAskedIn(asked: readonly AskedToken[]): IsAsked {
  const named = new Set(asked.map(({ addressBytes, asset }) => `${ownerOf(addressBytes)} ${asset}`))
  return (owner, asset) => named.has(`${owner} ${asset}`)
}
