import { setTimeout as pause } from 'node:timers/promises'
import type { BlockRef } from '../../core/invoice/types.ts'
import { ChainUnavailable, type ChainUpdate, type ScannedBlock } from '../adapter.ts'
import { ForkLeft, TipLeft } from './account-histories.ts'
import { AccountPolling } from './poll-accounts.ts'
import type { ReadParts } from './read-blocks.ts'
import { ACCOUNTS_PER_CALL, SOLANA_CODES, SolanaCallFailed } from './solana-rpc.ts'
import { LATE_SLOTS } from './unread-addresses.ts'

/** So many addresses are looked at in each round: each has token accounts besides. */
const LOOKS_PER_ROUND = ACCOUNTS_PER_CALL / 2
/** After a failure, so many times fewer: an address that nobody can read keeps others from being read for some minutes. */
const FEWER = 10
/** A look that takes longer goes on beside the blocks: an address with thousands of transactions takes a minute. */
const WAIT_MS = 500
const UNDER_WAY = 'under way' as const

type Again = { readonly triedSlot: number; readonly why: 'lacking' | 'unread' }
type Progress = {
  /** The place, in their order, of the address that is next. */
  readonly at: number
  /** Addresses that are still to be looked at; null for all that there are. */
  readonly left: number | null
  /** Those whose lists did not explain their balance, with when they were tried: looked at again a minute later. */
  readonly again: ReadonlyMap<string, Again>
}

type Found = { readonly blocks: readonly ScannedBlock[]; readonly progress: Progress }

/**
 * Where blocks are read, what came to an address below the checkpoint is in none of them: it may have come while the address
 * waited for its turn among those whose accounts were read. So each is looked at once more.
 */
export class LateLooks {
  readonly #parts: ReadParts
  /** Its own, since a look may still be under way when accounts are read again. */
  readonly #polling: AccountPolling
  #progress: Progress = { at: 0, left: null, again: new Map() }
  /** What was looked at last counts once the caller continues from this block, which says that it recorded what was found. */
  #reported: { readonly hash: string; readonly progress: Progress } | null = null
  /** The height from which on blocks were read without a gap, and the last of them. */
  #read: { readonly from: number; readonly to: string } | null = null
  /** How often the way to the checkpoint was another than the blocks that were read: what was found before may be elsewhere. */
  #breaks = 0
  #look: { readonly breaks: number; readonly found: Promise<Found | null> } | null = null
  #perRound = LOOKS_PER_ROUND
  #failed: { readonly slot: number; readonly reason: string } | null = null

  constructor(parts: ReadParts) {
    this.#parts = parts
    this.#polling = new AccountPolling(parts)
  }

  get notice(): string | null {
    if (this.#failed === null) return this.#polling.notice
    return `addresses of closed checkouts cannot be looked at (${this.#failed.reason}): what they were paid before blocks were read is found once they can`
  }

  /** Accounts were read up to here, or it is not known how far they were. */
  startAgain(): void {
    this.#progress = { at: this.#progress.at, left: null, again: new Map() }
    this.#reported = null
    this.#failed = null
    this.#read = null
    this.#breaks += 1
    this.#polling.startAgain()
  }

  /** The step that `read` gives, and what the next few addresses had been paid before it. Behind the tip, blocks come first. */
  async beside(
    checkpoint: BlockRef,
    range: { readonly tipSlot: number; readonly maxBlocks: number },
    read: () => Promise<ChainUpdate>,
  ): Promise<ChainUpdate> {
    if (this.#reported?.hash === checkpoint.hash) this.#progress = this.#reported.progress
    this.#reported = null
    if (this.#read?.to !== checkpoint.hash) this.#breaks += 1
    const found = await this.#found(checkpoint, range)
    const update = await read()
    const from = this.#read?.to === checkpoint.hash ? this.#read.from : checkpoint.height
    const above =
      update.blocks.length > 0 ? update.blocks : [{ block: update.ancestor, parentHash: '', transfers: [] }]
    const to = above.at(-1)?.block.hash ?? checkpoint.hash
    this.#read = { from: Math.min(from, update.ancestor.height), to }
    if (update.ancestor.hash !== checkpoint.hash) {
      this.#breaks += 1
      return update
    }
    if (found === null) return update
    this.#reported = { hash: to, progress: found.progress }
    // What lies above was in the blocks.
    const below = found.blocks.filter(({ block }) => block.height <= from)
    return below.length === 0 ? update : { ...update, blocks: [...below, ...above] }
  }

  /** What a look has found that ended; null where none has. */
  async #found(
    checkpoint: BlockRef,
    { tipSlot, maxBlocks }: { readonly tipSlot: number; readonly maxBlocks: number },
  ): Promise<Found | null> {
    const isNew = this.#look === null
    if (isNew && tipSlot - checkpoint.height > maxBlocks) return null
    this.#look ??= { breaks: this.#breaks, found: this.#lookAtNext(checkpoint, tipSlot) }
    const { breaks, found } = this.#look
    try {
      const ended = await Promise.race([found, pause(isNew ? WAIT_MS : 0, UNDER_WAY, { ref: false })])
      if (ended === UNDER_WAY) {
        // Whoever looks at it in a later round hears why it failed.
        found.catch(() => {})
        return null
      }
      this.#look = null
      return breaks === this.#breaks ? ended : null
    } catch (error) {
      this.#look = null
      throw error
    }
  }

  /** Null where nothing was looked at. */
  async #lookAtNext(checkpoint: BlockRef, tipSlot: number): Promise<Found | null> {
    if (this.#failed !== null && tipSlot - this.#failed.slot < LATE_SLOTS) return null
    const breaks = this.#breaks
    const { owners, progress } = this.#next(tipSlot)
    if (owners.length === 0) return null
    try {
      const read = await this.#polling.readBelow(checkpoint, owners, tipSlot)
      if (read === null) return null
      this.#failed = null
      this.#perRound = Math.min(LOOKS_PER_ROUND, this.#perRound * FEWER)
      const again = new Map(progress.again)
      for (const owner of owners) {
        const why = read.unexplained.get(owner)
        // What a list lacks for a minute the node has put away.
        const isKnownToLack = why === 'lacking' && again.get(owner)?.why === why
        again.delete(owner)
        if (why !== undefined && !isKnownToLack) again.set(owner, { triedSlot: tipSlot, why })
      }
      return { blocks: read.blocks, progress: { ...progress, again } }
    } catch (error) {
      const isBehind = error instanceof SolanaCallFailed && error.code === SOLANA_CODES.minContextSlot
      if (isBehind || error instanceof ForkLeft || error instanceof TipLeft) return null
      if (!(error instanceof ChainUnavailable)) throw error
      this.#perRound = Math.max(1, Math.floor(owners.length / FEWER))
      const [owner] = owners
      if (owners.length === 1 && owner !== undefined && breaks === this.#breaks) {
        const again = new Map(progress.again)
        again.delete(owner)
        this.#progress = { ...progress, again: again.set(owner, { triedSlot: tipSlot, why: 'unread' }) }
      }
      // Blocks have what is paid now, and must not wait for what was paid before.
      this.#failed = { slot: tipSlot, reason: error.message }
      return null
    }
  }

  #next(tipSlot: number): { readonly owners: readonly string[]; readonly progress: Progress } {
    const { at, left, again } = this.#progress
    const all = this.#parts.watched.size
    const toLook = Math.min(left ?? all, all)
    if (toLook === 0) {
      const due = [...again].filter(([, { triedSlot }]) => tipSlot - triedSlot >= LATE_SLOTS)
      return { owners: due.slice(0, this.#perRound).map(([owner]) => owner), progress: this.#progress }
    }
    const from = at < all ? at : 0
    const owners = this.#parts.watched.slice(from, from + Math.min(this.#perRound, toLook))
    const progress = { at: from + owners.length, left: toLook - owners.length, again }
    return { owners, progress }
  }
}
