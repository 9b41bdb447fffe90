import { type FileHandle, open, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import type { AssetId } from '../../core/assets.ts'
import { type Outpoint, outpointKey } from '../../core/chain/outpoint.ts'
import { isIdOf } from '../../core/ids.ts'
import { readPrivateFile } from '../../signer/private-file.ts'
import { SignerRefused } from '../../signer/refused.ts'
import { alert } from './alert.ts'
import {
  claimsOf,
  isUtxoEntry,
  isVaultSweepEntry,
  type JournalEntry,
  lineSchema,
  requireReadable,
  type SignedIntent,
  type UtxoEntry,
} from './journal-lines.ts'
import { type CreditPlace, SignedCredits } from './signed-credits.ts'

/**
 * Whether the journal has everything that the database has of a payout, a sweep or an x402 authorization. If not, the
 * journal is older than the database, or another signer's. What that signer signed may be on its way, and a second
 * transaction signed here could happen as well.
 */
export function isJournaled(
  signer: Parameters<typeof alert>[0],
  intent: { readonly id: string },
  stored: readonly { readonly txid: string }[],
  signed: readonly JournalEntry[],
): boolean {
  if (stored.every(({ txid }, index) => txid === signed[index]?.txid)) return true
  alert(signer, intent, 'the database has a signature that is not in the journal, and nothing more is signed')
  return false
}

/** A payout's first signature; lines of older releases do not say whose it is and what it is worth. */
export type FirstSigned = {
  readonly atMs: number
  readonly livemode: boolean
  readonly merchantId: string | null
  readonly asset: AssetId | null
  /** Base units. */
  readonly amount: bigint
  /** Of a token on Solana: whether it creates its destination's account. */
  readonly createsAccount: boolean
}

const firstSignedOf = ({ signed_at: atMs, network, intent, ...entry }: JournalEntry): FirstSigned => ({
  atMs,
  livemode: network.endsWith('-live'),
  merchantId: intent?.merchant_id ?? null,
  asset: intent?.asset ?? null,
  amount: BigInt(intent?.amount ?? 0),
  createsAccount: 'creates_account' in entry && entry.creates_account === true,
})

export const isPayoutId = (id: string): boolean => isIdOf('payout', id)
/** Whoever requests a sweep chooses its id: with a payout's id its signature would block that payout. */
export const isSweepId = (id: string): boolean => isIdOf('sweep', id) || isIdOf('maintenance', id)

type SweepIntent = Extract<SignedIntent, { readonly kind: 'sweep' }>

/** An output that came back to the signer. */
type Change = {
  /** Null in lines of older releases. */
  readonly merchantId: string | null
  readonly index: number
  readonly amount: bigint
}

const changeOf = (change: NonNullable<UtxoEntry['change']>, { intent }: UtxoEntry): Change => ({
  merchantId: intent?.merchant_id ?? null,
  index: change.change_index,
  amount: BigInt(change.amount),
})

/** Whether these are a payout of the same merchant's money as a sweep's. */
const isPaidFrom = ([payout]: readonly JournalEntry[], [sweep]: readonly JournalEntry[]): boolean =>
  payout?.intent?.kind === 'payout' &&
  payout.network === sweep?.network &&
  payout.intent.merchant_id === sweep.intent?.merchant_id &&
  payout.intent.asset === sweep.intent.asset

const OWNER_ONLY = 0o600
const journalPath = (folder: string): string => join(folder, 'payouts.jsonl')
const LINE_END = 0x0a

/** How many signatures the journal of a folder holds; only read, so also beside a signer that writes to it. */
export async function countSigned(folder: string): Promise<number> {
  const content = await readPrivateFile(journalPath(folder))
  return content === null ? 0 : content.toString('latin1').split('\n').length - 1
}

/**
 * What the signer ever signed for payouts, in a file of its own that only grows. A database restored to an
 * older state knows nothing of it; the journal does.
 */
export class PayoutJournal {
  readonly #path: string
  /** Bytes of the file, as far as this journal read or wrote it. */
  #size = 0
  readonly #byPayout = new Map<string, JournalEntry[]>()
  /** Which payouts use something up. */
  readonly #spenders = new Map<string, Set<string>>()
  readonly #nextChange = new Map<string, number>()
  /** What was signed on a network for sweeps of nothing, which create its sweeper. */
  readonly #sweepers = new Map<string, readonly JournalEntry[]>()
  /** The nonce after the highest that was signed of a deposit address, by its network and name in hex. */
  readonly #nextNonce = new Map<string, number>()
  /** The first signatures of sweeps for which a hot wallet pays, on all networks. */
  #fetches: JournalEntry[] = []
  readonly #change = new Map<string, Change>()
  readonly #credits = new SignedCredits()
  /** Transactions into vaults. */
  readonly #swept = new Set<string>()
  #firstSigned: FirstSigned[] = []
  /** Payouts that the database has not yet been seen to know. */
  readonly #unseen = new Set<string>()

  private constructor(path: string) {
    this.#path = path
  }

  /**
   * Reads the journal of a folder; a last line that was cut off by a crash was reported to nobody and goes. `reads`: a signer
   * may be writing to it, and nothing is changed.
   */
  static async open(folder: string, mode: 'writes' | 'reads' = 'writes'): Promise<PayoutJournal> {
    const journal = new PayoutJournal(journalPath(folder))
    const content = await readPrivateFile(journal.#path)
    if (content === null) return journal
    const end = content.lastIndexOf(LINE_END) + 1
    if (end < content.length && mode === 'writes') await truncate(journal.#path, end)
    journal.#size = end
    journal.#read(content.subarray(0, end))
    for (const id of journal.#byPayout.keys()) if (isPayoutId(id)) journal.#unseen.add(id)
    return journal
  }

  /**
   * Remembers all lines but those that were written at the same moment as the one before them: who wrote them found the file
   * longer than it meant to leave it, and reported to nobody. A line that stands elsewhere for another reason is damage.
   */
  #read(lines: Buffer): void {
    let start = 0
    let last: number | null = null
    for (let end = lines.indexOf(LINE_END); end >= 0; end = lines.indexOf(LINE_END, start)) {
      const entry = this.#parse(lines.toString('utf8', start, end))
      if (entry.at === undefined || entry.at === start) {
        this.#remember(entry)
        last = start
      } else if (entry.at !== last) throw this.#damaged(`a line that belongs at ${entry.at} is at ${start}`)
      start = end + 1
    }
  }

  /** Payouts that stood in the journal when it was opened and that `see` was not called for, oldest first. */
  unseenPayouts(): readonly string[] {
    return [...this.#unseen]
  }

  see(payoutIds: readonly string[]): void {
    for (const id of payoutIds) this.#unseen.delete(id)
  }

  /**
   * The sweeps for a payout's sake, each with its signatures, oldest first. One whose own payout was never signed went on for
   * the next that was, of the same money: no line says so.
   */
  sweepsFor(payoutId: string): readonly (readonly JournalEntry[])[] {
    const all = [...this.#byPayout.values()]
    const isFor = (entries: readonly JournalEntry[], place: number): boolean => {
      const payoutIds = entries.flatMap(({ intent }) => (intent?.kind === 'sweep' ? [intent.payout_id] : []))
      if (payoutIds.includes(payoutId)) return true
      if (payoutIds.length === 0 || payoutIds.some((id) => this.#byPayout.has(id))) return false
      return all.slice(place).find((later) => isPaidFrom(later, entries))?.[0]?.payout_id === payoutId
    }
    return all.filter(isFor)
  }

  /** Oldest first; empty where nothing was ever signed for it. */
  entriesOf(payoutId: string): readonly JournalEntry[] {
    return this.#byPayout.get(payoutId) ?? []
  }

  /** Whether this transaction, which swept into a vault, stands in the journal. */
  isSwept(txid: string): boolean {
    return this.#swept.has(txid)
  }

  /** Whose a payout or sweep is; null if nothing was signed for it, or in lines of older releases. */
  merchantOf(payoutId: string): string | null {
    return this.entriesOf(payoutId)[0]?.intent?.merchant_id ?? null
  }

  /** What was signed to create a network's sweeper, oldest first. */
  sweepersSigned(network: string): readonly JournalEntry[] {
    return this.#sweepers.get(network) ?? []
  }

  /** The first nonce of a deposit address (hex) that was neither signed nor delegated with, nor is below one that was. */
  nextNonceOf(network: string, address: string): number {
    return this.#nextNonce.get(`${network} ${address}`) ?? 0
  }

  /** All that was signed for each sweep of a network for which the hot wallet pays, first within a window; older are forgotten. */
  fetchesWithin(windowMs: number, nowMs: number, network: string): readonly (readonly JournalEntry[])[] {
    this.#fetches = this.#fetches.filter(({ signed_at: atMs }) => atMs > nowMs - windowMs)
    return this.#fetches
      .filter((first) => first.network === network)
      .map((first) => this.entriesOf(first.payout_id))
  }

  /** The payouts whose transactions use this up; see `outpointKey`. */
  spendersOf(claim: string): readonly string[] {
    return [...(this.#spenders.get(claim) ?? [])]
  }

  /** The first change index of a network that no signature used. */
  nextChangeIndex(network: string): number {
    return this.#nextChange.get(network) ?? 0
  }

  /** The change that a signature created as this output; undefined if none did. */
  changeAt(coin: Outpoint): Change | undefined {
    return this.#change.get(outpointKey(coin))
  }

  /** What was signed into and out of a wallet that merchants share, for one of them. */
  signedAt(place: CreditPlace): ReturnType<SignedCredits['at']> {
    return this.#credits.at(place)
  }

  /**
   * Payouts of a mode that were signed for the first time within a window, oldest first; older ones are forgotten. What was
   * signed while the clock was ahead counts as signed now: it would stay in the window for as long as that.
   */
  firstSignedWithin(windowMs: number, nowMs: number, livemode: boolean): readonly FirstSigned[] {
    this.#firstSigned = this.#firstSigned
      .map((first) => (first.atMs > nowMs ? { ...first, atMs: nowMs } : first))
      .filter(({ atMs }) => atMs > nowMs - windowMs)
    return this.#firstSigned
      .filter((first) => first.livemode === livemode)
      .sort((one, other) => one.atMs - other.atMs)
  }

  /**
   * Resolves once the entry is on the disk. Throws where the file is not as this journal left it: a signer that has lost its
   * lock, and does not know it yet, must not sign beside the one that took over. Throws `UnreadableLine` before it writes.
   */
  async append(entry: JournalEntry): Promise<void> {
    requireReadable(entry)
    const line = Buffer.from(`${JSON.stringify({ ...entry, at: this.#size })}\n`)
    const file = await open(this.#path, 'a', OWNER_ONLY)
    try {
      await this.#confirmSize(file)
      await file.appendFile(line)
      this.#size += line.length
      await file.sync()
      // If two wrote at once, the later one sees both lines and does not pass on its own.
      await this.#confirmSize(file)
    } finally {
      await file.close()
    }
    this.#remember(entry)
  }

  async #confirmSize(file: FileHandle): Promise<void> {
    const { size } = await file.stat()
    if (size !== this.#size)
      throw new Error(
        `another process has written to ${this.#path}: nothing is signed before it was read anew`,
      )
  }

  #parse(line: string): JournalEntry {
    try {
      return lineSchema.parse(JSON.parse(line))
    } catch (error) {
      throw this.#damaged(error)
    }
  }

  #damaged(cause: unknown): SignerRefused {
    return new SignerRefused(
      `${this.#path} was written to by a newer release, or is damaged: start the newest release that ran here, and never put an older journal in its place`,
      { cause },
    )
  }

  #remember(entry: JournalEntry): void {
    const entries = this.#byPayout.get(entry.payout_id) ?? []
    if (entries.length === 0 && isPayoutId(entry.payout_id)) this.#firstSigned.push(firstSignedOf(entry))
    this.#byPayout.set(entry.payout_id, [...entries, entry])
    for (const claim of claimsOf(entry)) {
      this.#spenders.set(claim, (this.#spenders.get(claim) ?? new Set()).add(entry.payout_id))
    }
    if (!isUtxoEntry(entry)) {
      this.#credits.add(entry)
      if (entry.intent?.kind === 'sweep' && entry.intent.amount === '0')
        this.#sweepers.set(entry.network, [...this.sweepersSigned(entry.network), entry])
      if (entries.length === 0 && entry.intent?.kind === 'sweep' && entry.intent.nonce === null)
        this.#fetches.push(entry)
      if (entry.intent?.kind === 'sweep') this.#noteNonce(entry.network, entry.intent)
      if (isVaultSweepEntry(entry)) this.#swept.add(entry.txid)
      return
    }
    if (entry.change !== null)
      this.#change.set(
        outpointKey({ txid: entry.change.txid, outputIndex: entry.change.output_index }),
        changeOf(entry.change, entry),
      )
    const next = (entry.change?.change_index ?? -1) + 1
    if (next > this.nextChangeIndex(entry.network)) this.#nextChange.set(entry.network, next)
  }

  #noteNonce(network: string, { address, nonce, delegation_nonce: delegated }: SweepIntent): void {
    const used = nonce ?? delegated
    if (used === undefined) return
    this.#nextNonce.set(`${network} ${address}`, Math.max(used + 1, this.nextNonceOf(network, address)))
  }
}
