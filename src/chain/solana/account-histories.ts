import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { entriesUpTo } from '../../runtime/cache-size.ts'
import { ChainUnavailable, type FoundTransfer } from '../adapter.ts'
import { concurrently } from '../concurrently.ts'
import { findTransfers } from './find-transfers.ts'
import type { ReadParts } from './read-blocks.ts'
import { SIGNATURES_PER_CALL } from './solana-rpc.ts'

const CALLS_IN_FLIGHT = 4
/** Lists of signatures are in no order within a slot, and late by some: they are read this much further back. */
export const OVERLAP_SLOTS = 32
/** If more transactions than this name one open address, blocks are read instead. */
const SIGNATURE_PAGES_MAX = 5
/** Looks at a list of signatures that does not explain an account's balance. */
const EXPLAIN_ATTEMPTS_MAX = 4
const EXPLAIN_RETRY_MS = 80
/** What transactions did to accounts; catching up in steps reads each of them once. */
const TOUCHES_MAX = 50_000

export type Reading = { readonly account: string; readonly lamports: bigint; readonly slot: number }
export type Touch = {
  readonly signature: string
  readonly slot: number
  readonly delta: bigint
  readonly transfers: readonly FoundTransfer[]
}

/** More transactions name an address than can be asked for one by one. */
export class TooManySignatures extends Error {
  override name = 'TooManySignatures'
}

/** Closed addresses whose lists tell nothing: what came to them is found only where blocks are read. */
export class UnreadAddresses {
  readonly #unread = new Set<string>()

  get notice(): string | null {
    const [first] = this.#unread
    if (first === undefined) return null
    const { size } = this.#unread
    const which = size === 1 ? `closed address ${first}` : `${size} closed addresses, as ${first},`
    return `the node's list of transactions of ${which} is too long to read: what came there is found by paylink rescan`
  }

  tell(account: string, isUnread: boolean): void {
    if (isUnread) this.#unread.add(account)
    else this.#unread.delete(account)
  }

  clear(): void {
    this.#unread.clear()
  }
}

/** What an account's transactions did to it, by the node's lists of signatures. */
export class AccountHistories {
  readonly #parts: ReadParts
  readonly #touched = new LRUCache<string, Touch>(entriesUpTo(TOUCHES_MAX))

  constructor(parts: ReadParts) {
    this.#parts = parts
  }

  /** Another fork may have other differences under the same names. */
  leaveFork(): void {
    this.#touched.clear()
  }

  /** The transactions above `since`, where they make its balance there the reading; null where they do not. */
  async explain(
    reading: Reading,
    from: { readonly since: number; readonly lamports: bigint },
  ): Promise<Touch[] | null> {
    for (let attempt = 1; attempt <= EXPLAIN_ATTEMPTS_MAX; attempt++) {
      const touches = await this.#touches(reading, from.since)
      const before = reading.lamports - touches.reduce((total, { delta }) => total + delta, 0n)
      if (before === from.lamports) return touches
      this.#touched.clear()
      await pause(EXPLAIN_RETRY_MS)
    }
    return null
  }

  /** The account's transactions above `since` and up to the reading, each once. */
  async #touches(reading: Reading, since: number): Promise<Touch[]> {
    const signatures = new Map<string, number>()
    let before: string | null = null
    for (let page = 1; ; page++) {
      const entries = await this.#parts.rpc.signaturesFor(reading.account, before, reading.slot)
      for (const { signature, slot, err } of entries) {
        if (slot > since && slot <= reading.slot && err === null) signatures.set(signature, slot)
      }
      const isPast = entries.every(({ slot }) => slot < since - OVERLAP_SLOTS)
      if (entries.length < SIGNATURES_PER_CALL || isPast) break
      if (page >= SIGNATURE_PAGES_MAX) throw new TooManySignatures(reading.account)
      before = entries.at(-1)?.signature ?? null
    }
    const touches = await concurrently([...signatures], CALLS_IN_FLIGHT, ([signature, slot]) =>
      this.#touch(signature, slot, reading),
    )
    return touches.flatMap((touch) =>
      touch !== null && touch.slot > since && touch.slot <= reading.slot ? [touch] : [],
    )
  }

  async #touch(signature: string, slot: number, { account }: Reading): Promise<Touch | null> {
    const key = `${signature} ${slot} ${account}`
    const known = this.#touched.get(key)
    if (known !== undefined) return known
    const transaction = await this.#parts.rpc.transaction(signature)
    if (transaction === null) return null
    if (transaction.signature !== signature)
      throw new ChainUnavailable(`the node gave another transaction than ${signature}`)
    const index = transaction.accounts.indexOf(account)
    const touch = {
      signature,
      slot: transaction.slot,
      delta: (transaction.post[index] ?? 0n) - (transaction.pre[index] ?? 0n),
      transfers: findTransfers(transaction, this.#parts.watched),
    }
    if (touch.slot === slot) this.#touched.set(key, touch)
    return touch
  }
}
