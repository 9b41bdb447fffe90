import type { Outpoint } from '../../core/chain/outpoint.ts'
import type { Payout } from '../../core/payout/payout.ts'
import type { SignedPayoutTransaction } from '../store/payout-transactions.ts'

/** A payout with its signed transactions, oldest first, of which only one can happen. */
export type TrackedPayout = {
  readonly payout: Payout
  readonly transactions: readonly SignedPayoutTransaction[]
}

/** What the chain says of a payout's transactions. */
export type ChainStatus =
  | { readonly kind: 'in_block'; readonly transaction: SignedPayoutTransaction; readonly isFinal: boolean }
  /** In no block: they are to be sent, or sent again. */
  | { readonly kind: 'absent' }
  /** Not enough of the chain was read to say; nothing is done this time. */
  | { readonly kind: 'unread' }
  /** It will never pay, for good. */
  | { readonly kind: 'dead'; readonly code: string }

/**
 * What payouts on one family of chains need of the watcher beside what is the same for all of them (see payout-tracker).
 * It holds no key. If it throws `ChainUnavailable`, the pass ends and the next provider starts it again.
 */
export type Broadcaster = {
  /** The providers that it asks. One look goes through one of them. */
  readonly providers: { through(work: () => Promise<void>): Promise<void>; readonly isLast: boolean }
  /** Whether anything beside payouts is under way: sweeps, authorizations, maintenance. */
  readonly isBusy?: boolean
  /** Keeps in the database what requests and the signer have to know of the network; called at every look. */
  refreshNetwork(): Promise<void>
  /** What has to happen on the chain before approved payouts can be signed, and what is under way of that. */
  prepare?(unsigned: readonly Payout[]): Promise<void>
  /** By payout id. */
  look(tracked: readonly TrackedPayout[]): Promise<ReadonlyMap<string, ChainStatus>>
  broadcast(transaction: SignedBytes): Promise<BroadcastVerdict>
  /** A node has one of its transactions, so any evidence that the payout is dead is void. */
  accepted?(payout: Payout): void
  /** Whether a payout none of whose transactions a node takes is dead. Coins of `unspent` are free again. */
  judgeRefused(
    tracked: TrackedPayout,
  ): Promise<{ readonly code: string; readonly unspent: readonly Outpoint[] } | null>
}

export type SignedBytes = { readonly txid: string; readonly raw: Uint8Array }

/** What the log says of a payout that is not given up. */
export const PAID_BY_UNKNOWN =
  'a payout was paid by a transaction that the books do not know, as after a restore: it is not paid again, and the signer looks whether it signed that'

/** What a node said to a signed transaction. */
export type BroadcastVerdict =
  /** It has the transaction: now, from before, or in a block. */
  | { readonly kind: 'known' }
  /** Its inputs do not exist there, or are spent. */
  | { readonly kind: 'lacks_inputs' }
  | { readonly kind: 'refused'; readonly reason: string }
