import type { Network } from '../../core/assets.ts'
import type { Payout } from '../../core/payout/payout.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { alert } from './alert.ts'
import type { JournalEntry } from './journal-lines.ts'
import type { CreditExceptions } from './signed-credits.ts'
import type { SigningContext } from './signing-context.ts'

/** A payout whose approval was verified, and the digest of what was approved. */
export type SigningTask = { readonly payout: Payout; readonly digest: Buffer }

/** Why nothing is signed. */
export type Unsigned =
  /** It never can be; the payout ends with this code. */
  | { readonly kind: 'refused'; readonly code: string }
  /** Something is missing that will come: it is tried again. */
  | { readonly kind: 'waits' }

/** What came of an attempt to sign. */
export type Signed<Entry extends JournalEntry = JournalEntry> =
  | { readonly kind: 'signed'; readonly entry: Entry }
  | Unsigned

/**
 * Whether so much was swept by the signer's own journal for the payout's merchant and not signed away. The database may
 * say more than that only where somebody forged its rows, or the journal was lost.
 */
export function isSignedFor(signer: SigningContext, payout: Payout, unmoved: CreditExceptions): boolean {
  if (signer.journal.creditOf(payout, unmoved) >= payout.amount) return true
  alert(signer, payout, 'the database says that more was swept for the merchant than was signed; it waits')
  return false
}

export const WAITS: Unsigned = { kind: 'waits' }

/**
 * What payouts on one family of chains need of the signer beside the one way that all of them go (see sign-payouts). A
 * kind builds and signs the payout's transactions; it writes neither the journal nor, before `publish`, the database.
 */
export type PayoutSigner = {
  /** What is done on a network at every turn, whether or not there are payouts, and before any was approved. */
  tend?(signer: SigningContext, network: Network): Promise<void>
  /**
   * Signs what has to happen on the chain before the payout can, with a journal and rows of its own; `ready` where nothing
   * is left of that.
   */
  prepare?(signer: SigningContext, task: SigningTask): Promise<'ready' | Unsigned>
  signFirst(signer: SigningContext, task: SigningTask): Promise<Signed>
  /** Signs again, for a higher fee, what must conflict with all that was signed before; `waits` where none is due. */
  signReplacement(signer: SigningContext, task: SigningTask, signed: readonly JournalEntry[]): Promise<Signed>
  /** Writes what a signed transaction uses up, beside the transaction itself and in the same database transaction. */
  publish(tx: Tx, tenant: Tenant, entry: JournalEntry, now: Date): Promise<void>
}
