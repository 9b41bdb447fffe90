import type { Network } from '../core/assets.ts'
import type { Payout } from '../core/payout/payout.ts'
import type { Tenant, Tx } from '../db/transaction.ts'
import type { JournalEntry } from './payout-journal.ts'
import type { PayoutSigner } from './sign-payouts.ts'

/** A payout whose approval was verified, and the digest of what was approved. */
export type SigningTask = { readonly payout: Payout; readonly digest: Buffer }

/** What came of an attempt to sign. */
export type Signed<Entry extends JournalEntry = JournalEntry> =
  | { readonly kind: 'signed'; readonly entry: Entry }
  /** It never can be; the payout ends with this code. */
  | { readonly kind: 'refused'; readonly code: string }
  /** Something is missing that will come: it is tried again. */
  | { readonly kind: 'waits' }

export const WAITS: Signed<never> = { kind: 'waits' }

/**
 * What payouts on one family of chains need of the signer beside the one way that all of them go (see sign-payouts). A
 * kind builds and signs; it writes neither the journal nor, before `publish`, the database.
 */
export type PayoutKind = {
  /** What has to be done on a network before its payouts are looked at. */
  prepare?(signer: PayoutSigner, network: Network): Promise<void>
  signFirst(signer: PayoutSigner, task: SigningTask): Promise<Signed>
  /** Signs again, for a higher fee, what must conflict with all that was signed before; `waits` where none is due. */
  signReplacement(signer: PayoutSigner, task: SigningTask, signed: readonly JournalEntry[]): Promise<Signed>
  /** Writes what a signed transaction uses up, beside the transaction itself and in the same database transaction. */
  publish(tx: Tx, tenant: Tenant, entry: JournalEntry, now: Date): Promise<void>
}
