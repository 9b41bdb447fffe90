import { address, getAddressEncoder, getProgramDerivedAddress } from '@solana/kit'
import { LRUCache } from 'lru-cache'
import type { BlockRef } from '../../core/invoice/types.ts'
import { entriesUpTo } from '../../runtime/cache-size.ts'
import { ChainUnavailable, type ChainUpdate, type FoundTransfer, type ScannedBlock } from '../adapter.ts'
import { concurrently } from '../concurrently.ts'
import { findTransfers, NATIVE_MINT } from './find-transfers.ts'
import type { ReadParts } from './read-blocks.ts'
import { ACCOUNTS_PER_CALL, SIGNATURES_PER_CALL } from './solana-rpc.ts'

const TOKEN_PROGRAM = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const ASSOCIATED_TOKEN_PROGRAM = address('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL')
const CALLS_IN_FLIGHT = 4
/** Lists of signatures are in no order within a slot, and late by some: they are read this much further back. */
const OVERLAP_SLOTS = 32
/** If more transactions than this name one address, blocks are read instead. */
const SIGNATURE_PAGES_MAX = 5
/** Looks at a list of signatures that does not explain an account's balance. */
const EXPLAIN_ATTEMPTS_MAX = 4
const EXPLAIN_RETRY_MS = 80
/** Of all addresses that no open checkout has, so many are looked at in each round. */
const CLOSED_PER_ROUND = ACCOUNTS_PER_CALL
/** Accounts, two for each address, that are remembered: one that is forgotten is explained from its beginning again. */
const REMEMBERED_MAX = 200_000
/** What transactions did to accounts; catching up in steps reads each of them once. */
const TOUCHES_MAX = 50_000

/** An account as we last saw it, all of whose transactions up to that slot were reported. */
type KnownAccount = { readonly lamports: bigint; readonly slot: number; readonly touchedSlot: number }

type Reading = { readonly account: string; readonly lamports: bigint; readonly slot: number }
type Touch = {
  readonly signature: string
  readonly slot: number
  readonly delta: bigint
  readonly transfers: readonly FoundTransfer[]
}

/** The chain left our checkpoint: only its blocks show where each payment above the fork is now. */
export class ForkLeft extends Error {
  override name = 'ForkLeft'
}

/** The chain left the tip of a reading before its end: there is another tip to read to. */
export class TipLeft extends Error {
  override name = 'TipLeft'
}

/** The node's list of transactions does not explain a balance: it lags, is not whole, or lamports came outside of all. */
export class Unexplained extends Error {
  override name = 'Unexplained'
}

/** More transactions name an address than can be asked for one by one. */
export class TooManySignatures extends Error {
  override name = 'TooManySignatures'
}

/**
 * Finds transfers by the balances of the accounts that somebody may pay now, and asks for the transactions of those
 * that changed. A balance must be explained in full by transactions that are reported: where a list of signatures lags
 * behind the accounts, blocks are read.
 */
export class AccountPolling {
  readonly #parts: ReadParts
  readonly #known = new LRUCache<string, KnownAccount>(entriesUpTo(REMEMBERED_MAX))
  readonly #tokenAccounts = new LRUCache<string, string>(entriesUpTo(REMEMBERED_MAX))
  /** The slot up to which an account's transactions were reported and recorded; nothing is known of those above it. */
  readonly #reportedThrough = new LRUCache<string, number>(entriesUpTo(REMEMBERED_MAX))
  /** What was reported last. It counts as recorded once the caller continues from its last block. */
  #reported: { readonly hash: string; readonly slot: number; readonly accounts: readonly string[] } | null =
    null
  readonly #touched = new LRUCache<string, Touch>(entriesUpTo(TOUCHES_MAX))
  /** The block up to which `#known` was reported; another checkpoint makes it worthless. */
  #at: string | null = null
  #closedFrom = 0

  constructor(parts: ReadParts) {
    this.#parts = parts
  }

  forget(): void {
    this.#known.clear()
    this.#at = null
  }

  /** For a new connection: what was recorded is not known, and all is reported again. */
  startAgain(): void {
    this.forget()
    this.#reported = null
    this.#reportedThrough.clear()
  }

  /** Whether the balance of any of these owners was not looked at since the checkpoint. */
  hasUnseen(open: readonly string[], checkpoint: BlockRef): boolean {
    return open.some((owner) => (this.#known.get(owner)?.slot ?? -1) < checkpoint.height)
  }

  /**
   * See `ChainAdapter.nextUpdate`. `open` are the owners of open checkouts. Throws `TipLeft`, `TooManySignatures`,
   * `Unexplained`, and `ForkLeft`: what was paid to closed checkouts is looked at in turns, and must not count as gone until then.
   */
  async read(
    checkpoint: BlockRef,
    open: readonly string[],
    range: { readonly tipSlot: number; readonly maxBlocks: number },
  ): Promise<ChainUpdate | null> {
    const { chain, rpc } = this.#parts
    if (this.#at !== checkpoint.hash) this.forget()
    this.#settleReported(checkpoint)
    // The tip first, and once more at the end: all that is read in between is of the one chain that leads to it.
    const end = (await chain.reference(range.tipSlot)).block
    const closed = this.#nextClosed(new Set(open))
    const readings = await this.#lamports([...open, ...closed], checkpoint.height)
    // One of several nodes behind an address may be some slots behind the one that named the tip.
    const slot = readings.reduce((lowest, each) => Math.min(lowest, each.slot), end.height)
    if (slot < checkpoint.height) return null
    const tip = slot === end.height ? end : (await chain.reference(slot)).block
    if (!(await chain.holds(checkpoint))) {
      this.#leaveFork(await chain.commonAncestor(checkpoint))
      throw new ForkLeft()
    }
    const isOpen = new Set(open)
    for (const owner of open) isOpen.add(await this.#tokenAccountOf(owner))
    const { touches, looked } = await this.#explain(readings, checkpoint, tip.height, isOpen)
    const update = await this.#update(checkpoint, tip, touches, range.maxBlocks)
    if (!(await rpc.hasBlock(end))) {
      this.forget()
      throw new TipLeft()
    }
    const last = update.blocks.at(-1)?.block ?? checkpoint
    this.#reported = { hash: last.hash, slot: last.height, accounts: looked }
    const hasChanges =
      tip.hash !== checkpoint.hash || update.blocks.some(({ transfers }) => transfers.length > 0)
    return hasChanges ? update : null
  }

  async #update(
    ancestor: BlockRef,
    tip: BlockRef,
    touches: readonly Touch[],
    maxBlocks: number,
  ): Promise<ChainUpdate> {
    const bySlot = new Map<number, Map<string, FoundTransfer>>()
    for (const touch of touches) {
      for (const transfer of touch.transfers) {
        const found = bySlot.get(touch.slot) ?? new Map()
        found.set(`${transfer.txid}:${transfer.outputIndex}`, transfer)
        bySlot.set(touch.slot, found)
      }
    }
    const slots = [...bySlot.keys()].sort((a, b) => a - b)
    // What was paid before its address was looked at lies below the checkpoint, and is reported before what is above.
    const above = slots.filter((slot) => slot > ancestor.height)
    const taken = [...slots.filter((slot) => slot <= ancestor.height), ...above.slice(0, maxBlocks)]
    const blocks: ScannedBlock[] = []
    for (const slot of taken) {
      const { block, head } =
        slot === tip.height ? { block: tip, head: null } : await this.#parts.chain.reference(slot)
      const transfers = [...(bySlot.get(slot)?.values() ?? [])]
      blocks.push({ block, parentHash: head?.previousBlockhash ?? '', transfers })
    }
    if (taken.length < slots.length) {
      // The rest is found again from there.
      this.forget()
    } else {
      if (blocks.at(-1)?.block.hash !== tip.hash) blocks.push({ block: tip, parentHash: '', transfers: [] })
      this.#at = tip.hash
    }
    return { ancestor, blocks, tip }
  }

  /** Of the owners that no open checkout has, the next few: what is paid late is found too, only later. */
  #nextClosed(open: ReadonlySet<string>): string[] {
    const { watched } = this.#parts
    if (this.#closedFrom >= watched.size) this.#closedFrom = 0
    const slice: string[] = []
    let index = 0
    for (const owner of watched) {
      if (index >= this.#closedFrom && !open.has(owner)) slice.push(owner)
      index += 1
      if (slice.length >= CLOSED_PER_ROUND) break
    }
    this.#closedFrom = slice.length < CLOSED_PER_ROUND ? 0 : index
    return slice
  }

  /** The balances of owners, and of the token accounts where wallets put wrapped SOL. */
  async #lamports(owners: readonly string[], minSlot: number): Promise<Reading[]> {
    const accounts = new Set<string>()
    for (const owner of owners) {
      accounts.add(owner)
      accounts.add(await this.#tokenAccountOf(owner))
    }
    const all = [...accounts]
    const batches: string[][] = []
    for (let at = 0; at < all.length; at += ACCOUNTS_PER_CALL)
      batches.push(all.slice(at, at + ACCOUNTS_PER_CALL))
    const readings = await concurrently(batches, CALLS_IN_FLIGHT, async (batch) => {
      const { slot, lamports } = await this.#parts.rpc.lamportsOf(batch, minSlot)
      return batch.map((account, index): Reading => ({ account, lamports: lamports[index] ?? 0n, slot }))
    })
    return readings.flat()
  }

  async #tokenAccountOf(owner: string): Promise<string> {
    const known = this.#tokenAccounts.get(owner)
    if (known !== undefined) return known
    const bytes = (text: string) => getAddressEncoder().encode(address(text))
    const [derived] = await getProgramDerivedAddress({
      programAddress: ASSOCIATED_TOKEN_PROGRAM,
      seeds: [bytes(owner), bytes(TOKEN_PROGRAM), bytes(NATIVE_MINT)],
    })
    this.#tokenAccounts.set(owner, derived)
    return derived
  }

  /** The transactions above the ancestor and up to `slot` that explain every balance which changed. */
  async #explain(
    readings: readonly Reading[],
    ancestor: BlockRef,
    slot: number,
    isOpen: ReadonlySet<string>,
  ): Promise<{ touches: Touch[]; looked: string[] }> {
    const changed = readings.filter((reading) => {
      const known = this.#known.get(reading.account)
      if (known === undefined) return reading.lamports > 0n
      return known.lamports !== reading.lamports || known.touchedSlot > ancestor.height
    })
    const isChanged = new Set(changed.map(({ account }) => account))
    const explained = await concurrently(changed, CALLS_IN_FLIGHT, async (reading) => {
      const touches = await this.#history(reading, ancestor)
      if (touches === null) {
        if (!isOpen.has(reading.account)) return null
        throw new Unexplained(
          `the node reports a balance of ${reading.account} that its list of transactions does not explain`,
        )
      }
      const later = touches.filter((touch) => touch.slot > slot)
      const lamports = reading.lamports - later.reduce((sum, { delta }) => sum + delta, 0n)
      const reported = touches.filter((touch) => touch.slot <= slot)
      const touchedSlot = reported.reduce((highest, touch) => Math.max(highest, touch.slot), 0)
      return { account: reading.account, known: { lamports, slot, touchedSlot }, reported }
    })
    const looked: string[] = []
    for (const { account, lamports } of readings) {
      if (isChanged.has(account)) continue
      looked.push(account)
      const touchedSlot = this.#known.get(account)?.touchedSlot ?? 0
      this.#known.set(account, { lamports, slot, touchedSlot })
    }
    // What no list explains of an address that nobody is to pay now is looked at again in its turn.
    const whole = explained.filter((each) => each !== null)
    for (const { account, known } of whole) {
      looked.push(account)
      this.#known.set(account, known)
    }
    return { touches: whole.flatMap(({ reported }) => reported), looked }
  }

  /** The account's transactions that were not reported yet; null where they do not explain its balance. */
  async #history(reading: Reading, ancestor: BlockRef): Promise<Touch[] | null> {
    const known = this.#known.get(reading.account)
    if (known === undefined || known.slot > ancestor.height) {
      // Without a balance to begin from the whole history must add up, so that a late list hides nothing.
      const reported = Math.min(this.#reportedThrough.get(reading.account) ?? 0, ancestor.height)
      return this.#explained(reading, { since: 0, lamports: 0n, reported })
    }
    const { slot: since, lamports } = known
    const touches = await this.#explained(reading, { since, lamports, reported: since })
    if (touches !== null) return touches
    // The balance to begin from may be one of a fork that the chain left while it was read: all is reported again.
    return this.#explained(reading, { since: 0, lamports: 0n, reported: 0 })
  }

  /** The transactions above `reported`, where all those above `since` make the reading of the balance at `since`. */
  async #explained(
    reading: Reading,
    from: { readonly since: number; readonly lamports: bigint; readonly reported: number },
  ): Promise<Touch[] | null> {
    for (let attempt = 1; attempt <= EXPLAIN_ATTEMPTS_MAX; attempt++) {
      const touches = await this.#touches(reading, from.since)
      const before = reading.lamports - touches.reduce((total, { delta }) => total + delta, 0n)
      if (before === from.lamports) return touches.filter((touch) => touch.slot > from.reported)
      this.#touched.clear()
      await new Promise((resolve) => setTimeout(resolve, EXPLAIN_RETRY_MS))
    }
    return null
  }

  /** Another fork may have other differences under the same names, and what was reported above the ancestor was of this one. */
  #leaveFork({ height }: BlockRef): void {
    this.#touched.clear()
    const reported = this.#reportedThrough.dump()
    this.#reportedThrough.load(
      reported.map(([account, { value }]) => [account, { value: Math.min(value, height) }]),
    )
  }

  /** A caller that continues from the end of the last report has recorded it; one that continues elsewhere has not. */
  #settleReported({ hash }: BlockRef): void {
    const reported = this.#reported
    this.#reported = null
    if (reported?.hash !== hash) return
    for (const account of reported.accounts) this.#reportedThrough.set(account, reported.slot)
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
