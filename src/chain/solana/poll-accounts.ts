import { LRUCache } from 'lru-cache'
import type { BlockRef } from '../../core/invoice/types.ts'
import { entriesUpTo } from '../../runtime/cache-size.ts'
import type { ChainUpdate } from '../adapter.ts'
import { concurrently } from '../concurrently.ts'
import {
  AccountHistories,
  ForkLeft,
  OVERLAP_SLOTS,
  type Reading,
  TipLeft,
  TooManySignatures,
  type Touch,
  Unexplained,
} from './account-histories.ts'
import { ClosedOwners } from './closed-owners.ts'
import { accountsToRead, type Open, type Owners, readBalances } from './read-balances.ts'
import type { ReadParts } from './read-blocks.ts'
import { SIGNATURES_PER_CALL, SOLANA_CODES, SolanaCallFailed } from './solana-rpc.ts'
import { touchedBlocks } from './touched-blocks.ts'
import { LATE_SLOTS, leastRecent, UnreadAddresses } from './unread-addresses.ts'

const CALLS_IN_FLIGHT = 4
/** Accounts, five for each address, that are remembered: one that is forgotten is explained from its beginning again. */
const REMEMBERED_MAX = 500_000

/**
 * An account as we last saw it, in `seenSlot`. All its transactions up to `since` were reported, and made it this; its list
 * was last asked for in `triedSlot`.
 */
type KnownAccount = {
  readonly balance: bigint
  readonly since: number
  readonly seenSlot: number
  readonly triedSlot: number
  readonly touchedSlot: number
  /** Null where its list is whole. */
  readonly lacking: Lacking | null
}

/** Of a list without the oldest: when it cannot be only late any more, null once it was read then, and what it had. */
type Lacking = { readonly againSlot: number | null; readonly listed: string }

/** Where every account begins. */
const NOTHING = { since: 0, balance: 0n, lacking: null }

type Range = { readonly tipSlot: number; readonly maxBlocks: number; readonly passesOver?: boolean }

type History = {
  readonly touches: Touch[]
  readonly since: number
  readonly reported: number
  /** Whether these are all from `since` on. */
  readonly isWhole: boolean
  readonly lacking: Lacking | null
}

/**
 * Finds transfers by the balances of the accounts that somebody may pay now, and asks for the transactions of those
 * that changed, and in turns of those that hold something. A balance must be explained in full by transactions that are reported: where a list of signatures lags
 * behind the accounts, blocks are read.
 */
export class AccountPolling {
  readonly #parts: ReadParts
  readonly #known = new LRUCache<string, KnownAccount>(entriesUpTo(REMEMBERED_MAX))
  /** The slot up to which an account's transactions were reported and recorded; nothing is known of those above it. */
  readonly #reportedThrough = new LRUCache<string, number>(entriesUpTo(REMEMBERED_MAX))
  /** What was reported last. It counts as recorded once the caller continues from its last block. */
  #reported: {
    readonly hash: string
    readonly slot: number
    readonly through: ReadonlyMap<string, number>
  } | null = null
  /** The block up to which `#known` was reported; another checkpoint makes it worthless. */
  #at: string | null = null
  readonly #closed = new ClosedOwners()
  readonly #histories: AccountHistories
  readonly #unread = new UnreadAddresses()

  constructor(parts: ReadParts) {
    this.#parts = parts
    this.#histories = new AccountHistories(parts)
  }

  get notice(): string | null {
    return this.#unread.notice
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
    this.#unread.clear()
  }

  /** Whether the balance of any of these owners was not looked at since the checkpoint. */
  hasUnseen(open: readonly string[], checkpoint: BlockRef): boolean {
    return open.some((owner) => (this.#known.get(owner)?.seenSlot ?? -1) < checkpoint.height)
  }

  /**
   * See `ChainAdapter.nextUpdate`. `open` are the owners of open checkouts. Throws `TipLeft`, for an open one
   * `TooManySignatures` and `Unexplained`, unless it `passesOver` those too since there is no other way to read, and `ForkLeft`:
   * what was paid to closed checkouts is looked at in turns, and must not count as gone until then.
   */
  async read(checkpoint: BlockRef, listed: Open, range: Range): Promise<ChainUpdate | null> {
    const { owners: open, isAsked } = listed
    const closed = this.#closed.next(this.#parts.watched, new Set(isAsked === null ? open : []))
    const owners = range.passesOver ? { closed: [...open, ...closed] } : { open: listed, closed }
    const update = (await this.#read(checkpoint, owners, range))?.update
    if (update === undefined) return null
    const hasChanges =
      update.tip.hash !== checkpoint.hash || update.blocks.some(({ transfers }) => transfers.length > 0)
    return hasChanges ? update : null
  }

  /**
   * The blocks at or below the checkpoint in which these owners were paid, where those above it are read by themselves, and
   * the owners of whom that may not be all. Null where the node is behind. Throws as `read` does for closed ones.
   */
  async readBelow(checkpoint: BlockRef, owners: readonly string[], tipSlot: number) {
    // Whether what was found the last time was recorded is not known: all that the accounts ever had is looked at.
    this.forget()
    this.#reported = null
    const read = await this.#read(checkpoint, { closed: owners }, { tipSlot, maxBlocks: 0 })
    if (read === null) return null
    const unexplained = new Map<string, 'lacking' | 'unread'>()
    for (const owner of owners) {
      const all = await this.#parts.tokens.of(owner)
      const accounts = all.filter(({ account }) => read.unexplained.has(account))
      const isUnread = accounts.some(({ account }) => this.#unread.has(account))
      if (accounts.length > 0) unexplained.set(owner, isUnread ? 'unread' : 'lacking')
    }
    const blocks = read.update.blocks.filter(
      ({ block, transfers }) => block.height <= checkpoint.height && transfers.length > 0,
    )
    return { blocks, unexplained }
  }

  async #read(checkpoint: BlockRef, owners: Owners, range: Range) {
    const { chain, rpc, tokens } = this.#parts
    if (this.#at !== checkpoint.hash) this.forget()
    this.#settleReported(checkpoint)
    // The tip first, and once more at the end: all that is read in between is of the one chain that leads to it.
    const end = (await chain.reference(range.tipSlot)).block
    const { accounts, isOpen } = await accountsToRead(tokens, owners)
    const readings = await readBalances(rpc, accounts, checkpoint.height)
    // One of several nodes behind an address may be some slots behind the one that named the tip.
    const slot = readings.reduce((lowest, each) => Math.min(lowest, each.slot), end.height)
    if (slot < checkpoint.height) return null
    const tip = slot === end.height ? end : (await chain.reference(slot)).block
    if (!(await chain.holds(checkpoint))) {
      this.#leaveFork((await chain.commonAncestor(checkpoint)).ancestor)
      throw new ForkLeft()
    }
    const { touches, through, unexplained } = await this.#explain(readings, checkpoint, tip.height, isOpen)
    const ends = { ancestor: checkpoint, tip }
    const { blocks, areAll } = await touchedBlocks(chain, ends, touches, range.maxBlocks)
    // What is left is found again from the last of these.
    if (areAll) this.#at = tip.hash
    else this.forget()
    if (!(await rpc.hasBlock(end))) {
      this.forget()
      throw new TipLeft()
    }
    const last = blocks.at(-1)?.block ?? checkpoint
    this.#reported = { hash: last.hash, slot: last.height, through }
    return { update: { ...ends, blocks }, unexplained }
  }

  /** The transactions up to `slot` that were not reported yet, and through which slot each account's now are. */
  async #explain(
    readings: readonly Reading[],
    ancestor: BlockRef,
    slot: number,
    isOpen: ReadonlySet<string>,
  ) {
    const differing = readings.filter((reading) => {
      const known = this.#known.get(reading.account)
      if (known === undefined) return reading.balance > 0n
      return known.balance !== reading.balance || known.touchedSlot > ancestor.height
    })
    const isDiffering = new Set(differing.map(({ account }) => account))
    const unchanged = readings.filter(({ account }) => !isDiffering.has(account))
    const passedOver = this.#unread.passedOver([...isDiffering].filter((account) => !isOpen.has(account)))
    const changed = differing.filter(({ account }) => !passedOver.has(account))
    const due = this.#due(unchanged, isOpen, slot)
    const explained = await concurrently([...changed, ...due], CALLS_IN_FLIGHT, async (reading) => {
      const { account } = reading
      const how = { isOpen: isOpen.has(account), isChanged: isDiffering.has(account) }
      const history = await this.#historyInTurn(reading, ancestor, how)
      if (history === null) return null
      const later = history.touches.filter((touch) => touch.slot > slot)
      const balance = reading.balance - later.reduce((sum, { delta }) => sum + delta, 0n)
      const upTo = history.touches.filter((touch) => touch.slot <= slot)
      const touchedSlot = upTo.reduce((highest, touch) => Math.max(highest, touch.slot), 0)
      const { lacking } = history
      // What a late list leaves out may stand below the newest that it has, and leave the balance as it is.
      const since =
        balance === 0n || lacking !== null ? slot : Math.max(history.since, touchedSlot, slot - OVERLAP_SLOTS)
      const reported = upTo.filter((touch) => touch.slot > history.reported)
      const known = { balance, since, seenSlot: slot, triedSlot: slot, touchedSlot, lacking }
      return { account, known, reported, isWhole: history.isWhole }
    })
    const isDue = new Set(due.map(({ account }) => account))
    const through = new Map<string, number>()
    for (const { account, balance } of unchanged) {
      const known = this.#known.get(account)
      if (known !== undefined && balance > 0n) {
        const triedSlot = isDue.has(account) ? slot : known.triedSlot
        this.#known.set(account, { ...known, seenSlot: slot, triedSlot })
        continue
      }
      through.set(account, slot)
      this.#unread.record(account, null, slot)
      const touchedSlot = known?.touchedSlot ?? 0
      const seen = { since: slot, seenSlot: slot, triedSlot: slot }
      this.#known.set(account, { balance, ...seen, touchedSlot, lacking: null })
    }
    // What no list explains of an address that nobody is to pay now is looked at again in its turn.
    const whole = explained.filter((each) => each !== null)
    for (const { account, known, isWhole } of whole) {
      if (isWhole) through.set(account, known.since)
      this.#known.set(account, known)
    }
    const unexplained = new Set([...isDiffering].filter((account) => !through.has(account)))
    return { touches: whole.flatMap(({ reported }) => reported), through, unexplained }
  }

  /**
   * The open and the closed account that hold something and whose list was asked for longest ago. What a sweep took and
   * somebody paid again leaves their balance as it was, and so does wrapping what a token account has: only lists tell. Of
   * an account that is empty nothing was swept that is not in the books. Besides, those whose list may have been late.
   */
  #due(unchanged: readonly Reading[], isOpen: ReadonlySet<string>, slot: number): Reading[] {
    const holding = unchanged.filter(({ balance }) => balance > 0n)
    const turns = leastRecent(holding, {
      kindOf: ({ account }) => isOpen.has(account),
      slotOf: ({ account }) => this.#known.get(account)?.triedSlot,
    })
    const again = holding.filter(
      ({ account }) => (this.#known.get(account)?.lacking?.againSlot ?? Number.POSITIVE_INFINITY) <= slot,
    )
    return [...new Set([...turns, ...again])]
  }

  /** Null where there is nothing to report before the account's next turn. */
  async #historyInTurn(
    reading: Reading,
    ancestor: BlockRef,
    { isOpen, isChanged }: { readonly isOpen: boolean; readonly isChanged: boolean },
  ): Promise<History | null> {
    const { account } = reading
    const { lacking = null } = this.#known.get(account) ?? {}
    try {
      if (!isChanged && lacking !== null && (lacking.againSlot ?? 0) <= reading.slot)
        return await this.#newest(reading, lacking)
      const history = await this.#history(reading, ancestor, isOpen)
      if (history?.lacking === null) this.#unread.record(account, null, reading.slot)
      if (history !== null) return history
      if (!isOpen) return await this.#newest(reading, null)
    } catch (error) {
      // One of several nodes is behind the one that gave the balance, which did not change: it has time.
      const isBehind = error instanceof SolanaCallFailed && error.code === SOLANA_CODES.minContextSlot
      if (isBehind && !isChanged) return null
      // A stranger can name an old address as often as he pays for: it must not keep others from being read.
      if (isOpen || !(error instanceof TooManySignatures)) throw error
      this.#unread.record(account, 'too long to read', reading.slot)
      return null
    }
    throw new Unexplained(
      `the node reports a balance of ${account} that its list of transactions does not explain`,
    )
  }

  /**
   * Of a closed account whose oldest transactions the node put away, or does not list yet; null where that is not all that is
   * missing. Of one that was seen before, what came since then is missing, which nobody put away: its list is waited for.
   */
  async #newest(reading: Reading, before: Lacking | null): Promise<History | null> {
    const { account, slot } = reading
    const known = this.#known.get(account)
    const isLate = before === null && known !== undefined && !this.#unread.isLongLate(account, slot)
    const touches = isLate ? null : await this.#histories.newest(reading)
    if (touches === null) {
      this.#unread.record(account, 'not whole', slot)
      this.#histories.forget()
      return null
    }
    // What is missing of one that was seen before stays to be looked for.
    if (known === undefined) this.#unread.record(account, null, slot)
    const oldest = touches.reduce((lowest, touch) => Math.min(lowest, touch.slot), slot)
    const listed = `${touches.length} from ${oldest}`
    const reported = before?.listed === listed ? (known?.since ?? 0) : 0
    // A long list would cost too much in each turn.
    const isLong = before !== null && touches.length >= SIGNATURES_PER_CALL
    const lacking = isLong ? null : { againSlot: before === null ? slot + LATE_SLOTS : null, listed }
    return { touches, since: 0, reported, isWhole: false, lacking }
  }

  /** The account's transactions above `since`, reported up to `reported`; null where they do not explain its balance. */
  async #history(reading: Reading, ancestor: BlockRef, isOpen: boolean): Promise<History | null> {
    const known = this.#known.get(reading.account)
    const explained = async (
      from: { readonly since: number; readonly balance: bigint; readonly lacking: Lacking | null },
      reported: number,
    ) => {
      const { since, lacking } = from
      const touches = await this.#histories.explain(reading, from, isOpen)
      return touches === null ? null : { touches, since, reported, isWhole: lacking === null, lacking }
    }
    if (known === undefined || known.since > ancestor.height) {
      // Without a balance to begin from the whole history must add up, so that a late list hides nothing.
      return explained(NOTHING, Math.min(this.#reportedThrough.get(reading.account) ?? 0, ancestor.height))
    }
    // The balance to begin from may be one of a fork that the chain left while it was read: all is reported again.
    return (await explained(known, known.since)) ?? (await explained(NOTHING, 0))
  }

  /** What was reported above the ancestor was of this fork. */
  #leaveFork({ height }: BlockRef): void {
    this.#histories.forget()
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
    for (const [account, slot] of reported.through)
      this.#reportedThrough.set(account, Math.min(slot, reported.slot))
  }
}
