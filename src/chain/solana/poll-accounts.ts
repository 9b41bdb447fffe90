import { LRUCache } from 'lru-cache'
import type { BlockRef } from '../../core/invoice/types.ts'
import { entriesUpTo } from '../../runtime/cache-size.ts'
import type { ChainUpdate, FoundTransfer, ScannedBlock } from '../adapter.ts'
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
import type { ReadParts } from './read-blocks.ts'
import { ACCOUNTS_PER_CALL, SOLANA_CODES, SolanaCallFailed } from './solana-rpc.ts'
import { TokenAccounts } from './token-accounts.ts'
import { LATE_SLOTS, leastRecent, UnreadAddresses } from './unread-addresses.ts'

const CALLS_IN_FLIGHT = 4
/** Accounts, two for each address, that are remembered: one that is forgotten is explained from its beginning again. */
const REMEMBERED_MAX = 200_000

/**
 * An account as we last saw it, in `seenSlot`. All its transactions up to `since` were reported, and made it this; its list
 * was last asked for in `triedSlot`.
 */
type KnownAccount = {
  readonly lamports: bigint
  readonly since: number
  readonly seenSlot: number
  readonly triedSlot: number
  readonly touchedSlot: number
  /** When its list was found to lack the oldest, until it was read again a minute later; null where it does not. */
  readonly lackingSlot: number | null
}

type History = {
  readonly touches: Touch[]
  readonly since: number
  readonly reported: number
  /** Whether these are all from `since` on. */
  readonly isWhole: boolean
  readonly lackingSlot: number | null
}

/**
 * Finds transfers by the balances of the accounts that somebody may pay now, and asks for the transactions of those
 * that changed, and in turns of those that hold something. A balance must be explained in full by transactions that are reported: where a list of signatures lags
 * behind the accounts, blocks are read.
 */
export class AccountPolling {
  readonly #parts: ReadParts
  readonly #known = new LRUCache<string, KnownAccount>(entriesUpTo(REMEMBERED_MAX))
  readonly #tokenAccounts = new TokenAccounts(REMEMBERED_MAX)
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
   * `TooManySignatures` and `Unexplained`, and `ForkLeft`: what was paid to closed checkouts is looked at in turns, and must not count as gone until then.
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
    const closed = this.#closed.next(this.#parts.watched, new Set(open))
    const readings = await this.#lamports([...open, ...closed], checkpoint.height)
    // One of several nodes behind an address may be some slots behind the one that named the tip.
    const slot = readings.reduce((lowest, each) => Math.min(lowest, each.slot), end.height)
    if (slot < checkpoint.height) return null
    const tip = slot === end.height ? end : (await chain.reference(slot)).block
    if (!(await chain.holds(checkpoint))) {
      this.#leaveFork((await chain.commonAncestor(checkpoint)).ancestor)
      throw new ForkLeft()
    }
    const isOpen = new Set(open)
    for (const owner of open) isOpen.add(await this.#tokenAccounts.of(owner))
    const { touches, through } = await this.#explain(readings, checkpoint, tip.height, isOpen)
    const update = await this.#update(checkpoint, tip, touches, range.maxBlocks)
    if (!(await rpc.hasBlock(end))) {
      this.forget()
      throw new TipLeft()
    }
    const last = update.blocks.at(-1)?.block ?? checkpoint
    this.#reported = { hash: last.hash, slot: last.height, through }
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

  /** The balances of owners, and of the token accounts where wallets put wrapped SOL. */
  async #lamports(owners: readonly string[], minSlot: number): Promise<Reading[]> {
    const accounts = new Set<string>()
    for (const owner of owners) {
      accounts.add(owner)
      accounts.add(await this.#tokenAccounts.of(owner))
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

  /** The transactions up to `slot` that were not reported yet, and through which slot each account's now are. */
  async #explain(
    readings: readonly Reading[],
    ancestor: BlockRef,
    slot: number,
    isOpen: ReadonlySet<string>,
  ): Promise<{ touches: Touch[]; through: Map<string, number> }> {
    const differing = readings.filter((reading) => {
      const known = this.#known.get(reading.account)
      if (known === undefined) return reading.lamports > 0n
      return known.lamports !== reading.lamports || known.touchedSlot > ancestor.height
    })
    const isDiffering = new Set(differing.map(({ account }) => account))
    const unchanged = readings.filter(({ account }) => !isDiffering.has(account))
    const passedOver = this.#unread.passedOver([...isDiffering].filter((account) => !isOpen.has(account)))
    const changed = differing.filter(({ account }) => !passedOver.has(account))
    const due = this.#due(unchanged, isOpen)
    const explained = await concurrently([...changed, ...due], CALLS_IN_FLIGHT, async (reading) => {
      const { account } = reading
      const how = { isOpen: isOpen.has(account), isChanged: isDiffering.has(account) }
      const history = await this.#historyInTurn(reading, ancestor, how)
      if (history === null) return null
      const later = history.touches.filter((touch) => touch.slot > slot)
      const lamports = reading.lamports - later.reduce((sum, { delta }) => sum + delta, 0n)
      const upTo = history.touches.filter((touch) => touch.slot <= slot)
      const touchedSlot = upTo.reduce((highest, touch) => Math.max(highest, touch.slot), 0)
      // What a late list leaves out may stand below the newest that it has, and leave the balance as it is.
      const since = lamports === 0n ? slot : Math.max(history.since, touchedSlot, slot - OVERLAP_SLOTS)
      const reported = upTo.filter((touch) => touch.slot > history.reported)
      const { lackingSlot } = history
      const known = { lamports, since, seenSlot: slot, triedSlot: slot, touchedSlot, lackingSlot }
      return { account, known, reported, isWhole: history.isWhole }
    })
    const isDue = new Set(due.map(({ account }) => account))
    const through = new Map<string, number>()
    for (const { account, lamports } of unchanged) {
      const known = this.#known.get(account)
      if (known !== undefined && lamports > 0n) {
        const triedSlot = isDue.has(account) ? slot : known.triedSlot
        this.#known.set(account, { ...known, seenSlot: slot, triedSlot })
        continue
      }
      through.set(account, slot)
      this.#unread.record(account, null, slot)
      const touchedSlot = known?.touchedSlot ?? 0
      const seen = { since: slot, seenSlot: slot, triedSlot: slot }
      this.#known.set(account, { lamports, ...seen, touchedSlot, lackingSlot: null })
    }
    // What no list explains of an address that nobody is to pay now is looked at again in its turn.
    const whole = explained.filter((each) => each !== null)
    for (const { account, known, isWhole } of whole) {
      if (isWhole) through.set(account, known.since)
      this.#known.set(account, known)
    }
    return { touches: whole.flatMap(({ reported }) => reported), through }
  }

  /**
   * The open and the closed account that hold something and whose list was asked for longest ago. What a sweep took and
   * somebody paid again leaves their balance as it was, and so does wrapping what a token account has: only lists tell. Of
   * an account that is empty nothing was swept that is not in the books.
   */
  #due(unchanged: readonly Reading[], isOpen: ReadonlySet<string>): Reading[] {
    return leastRecent(
      unchanged.filter(({ lamports }) => lamports > 0n),
      {
        kindOf: ({ account }) => isOpen.has(account),
        slotOf: ({ account }) => this.#known.get(account)?.triedSlot,
      },
    )
  }

  /** Null where there is nothing to report before the account's next turn. */
  async #historyInTurn(
    reading: Reading,
    ancestor: BlockRef,
    { isOpen, isChanged }: { readonly isOpen: boolean; readonly isChanged: boolean },
  ): Promise<History | null> {
    const { account } = reading
    const { lackingSlot = null } = this.#known.get(account) ?? {}
    const isLacking = lackingSlot !== null && reading.slot - lackingSlot >= LATE_SLOTS
    try {
      if (isLacking && !isChanged) return await this.#newest(reading, null)
      const history = await this.#history(reading, ancestor)
      if (history !== null) this.#unread.record(account, null, reading.slot)
      if (history !== null) return history
      if (!isOpen) return await this.#newest(reading, reading.slot)
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
   * missing. Of one that was seen before, what came since then is missing: nobody put that away.
   */
  async #newest(reading: Reading, lackingSlot: number | null): Promise<History | null> {
    const { account, slot } = reading
    const isLate = lackingSlot !== null && this.#known.has(account)
    const touches = isLate ? 'gap' : await this.#histories.newest(reading)
    this.#unread.record(account, touches === 'gap' ? 'not whole' : null, slot)
    if (touches === null || touches === 'gap') return null
    return { touches, since: 0, reported: 0, isWhole: false, lackingSlot }
  }

  /** The account's transactions above `since`, reported up to `reported`; null where they do not explain its balance. */
  async #history(reading: Reading, ancestor: BlockRef): Promise<History | null> {
    const known = this.#known.get(reading.account)
    const explained = async (
      since: number,
      lamports: bigint,
      reported: number,
      lackingSlot: number | null,
    ) => {
      const touches = await this.#histories.explain(reading, { since, lamports })
      return touches === null
        ? null
        : { touches, since, reported, isWhole: lackingSlot === null, lackingSlot }
    }
    if (known === undefined || known.since > ancestor.height) {
      // Without a balance to begin from the whole history must add up, so that a late list hides nothing.
      return explained(
        0,
        0n,
        Math.min(this.#reportedThrough.get(reading.account) ?? 0, ancestor.height),
        null,
      )
    }
    const { since, lamports, lackingSlot } = known
    // The balance to begin from may be one of a fork that the chain left while it was read: all is reported again.
    return (await explained(since, lamports, since, lackingSlot)) ?? (await explained(0, 0n, 0, null))
  }

  /** What was reported above the ancestor was of this fork. */
  #leaveFork({ height }: BlockRef): void {
    this.#histories.leaveFork()
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
