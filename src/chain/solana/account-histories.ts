import { setTimeout as pause } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import type { SolanaMint } from '../../core/chain/solana-mints.ts'
import { entriesUpTo } from '../../runtime/cache-size.ts'
import { ChainUnavailable, type FoundTransfer } from '../adapter.ts'
import { concurrently } from '../concurrently.ts'
import { balanceIn, findTransfers } from './find-transfers.ts'
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

/** `balance`: lamports of an owner, or tokens of a mint. */
export type Reading = {
  readonly account: string
  readonly mint: SolanaMint | null
  readonly balance: bigint
  readonly slot: number
}
export type Touch = {
  readonly signature: string
  readonly slot: number
  readonly delta: bigint
  /** What the account had after it. */
  readonly after: bigint
  readonly transfers: readonly FoundTransfer[]
}

/** The node's list of transactions does not explain a balance: it lags, is not whole, or lamports came outside of all. */
export class Unexplained extends Error {
  override name = 'Unexplained'
}

/** More transactions name an address than can be asked for one by one. */
export class TooManySignatures extends Error {
  override name = 'TooManySignatures'
}

/** The chain left our checkpoint: only its blocks show where each payment above the fork is now. */
export class ForkLeft extends Error {
  override name = 'ForkLeft'
}

/** The chain left the tip of a reading before its end: there is another tip to read to. */
export class TipLeft extends Error {
  override name = 'TipLeft'
}

/** What an account's transactions did to it, by the node's lists of signatures. */
export class AccountHistories {
  readonly #parts: ReadParts
  readonly #touched = new LRUCache<string, Touch>(entriesUpTo(TOUCHES_MAX))

  constructor(parts: ReadParts) {
    this.#parts = parts
  }

  /** Another fork may have other differences under the same names. */
  forget(): void {
    this.#touched.clear()
  }

  /**
   * The transactions above `since`, where they make its balance there the reading; null where they do not. `waits`: for a
   * list that may be some moments late; what nobody waits for has its next turn.
   */
  async explain(
    reading: Reading,
    from: { readonly since: number; readonly balance: bigint },
    waits: boolean,
  ): Promise<Touch[] | null> {
    for (let attempt = 1; ; attempt++) {
      const touches = await this.#touches(reading, from.since)
      const before = reading.balance - touches.reduce((total, { delta }) => total + delta, 0n)
      if (before === from.balance) return touches
      if (!waits) return null
      this.forget()
      if (attempt >= EXPLAIN_ATTEMPTS_MAX) return null
      await pause(EXPLAIN_RETRY_MS)
    }
  }

  /**
   * All of the account's transactions that the node lists, where each begins with the balance that the one before left and
   * the newest left the reading: only older ones can be missing, and these are on the chain that has this balance. Null
   * where they do not follow one another.
   */
  async newest(reading: Reading): Promise<Touch[] | null> {
    const touches = await this.#touches(reading, 0)
    const left = touches.toSorted((a, b) => b.slot - a.slot)
    let { balance } = reading
    while (left.length > 0) {
      // In no order within a slot.
      const at = left.findIndex(({ slot, after }) => slot === left[0]?.slot && after === balance)
      const [touch] = at < 0 ? [] : left.splice(at, 1)
      if (touch === undefined) return null
      balance -= touch.delta
    }
    return touches
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
      if (page >= SIGNATURE_PAGES_MAX)
        throw new TooManySignatures(`${reading.account} is named in more transactions than can be read`)
      before = entries.at(-1)?.signature ?? null
    }
    const touches = await concurrently([...signatures], CALLS_IN_FLIGHT, ([signature, slot]) =>
      this.#touch(signature, slot, reading),
    )
    return touches.flatMap((touch) =>
      touch !== null && touch.slot > since && touch.slot <= reading.slot ? [touch] : [],
    )
  }

  async #touch(signature: string, slot: number, { account, mint }: Reading): Promise<Touch | null> {
    const key = `${signature} ${slot} ${account}`
    const known = this.#touched.get(key)
    if (known !== undefined) return known
    const transaction = await this.#parts.rpc.transaction(signature)
    if (transaction === null) return null
    if (transaction.signature !== signature)
      throw new ChainUnavailable(`the node gave another transaction than ${signature}`)
    const index = transaction.accounts.indexOf(account)
    const { pre, post, preTokens, postTokens } = transaction
    const before = mint === null ? (pre[index] ?? 0n) : balanceIn(preTokens, index, mint, null)
    const after = mint === null ? (post[index] ?? 0n) : balanceIn(postTokens, index, mint, null)
    const transfers = findTransfers(transaction, this.#parts)
    const touch = { signature, slot: transaction.slot, delta: after - before, after, transfers }
    if (touch.slot === slot) this.#touched.set(key, touch)
    return touch
  }
}
