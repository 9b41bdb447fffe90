import type { Network } from '../../core/assets.ts'
import type { Payout } from '../../core/payout/payout.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { alert } from './alert.ts'
import type { JournalEntry } from './journal-lines.ts'
import { creditOf, type Unmoved } from './outcomes.ts'
import type { SigningContext } from './signing-context.ts'

/** A payout whose approval was verified, and the digest of what was approved. */
export type SigningTask = { readonly payout: Payout; readonly digest: Buffer }

/** Why nothing is signed. */
export type Unsigned =
  /** It never can be; the payout ends with this code. */
  | { readonly kind: 'refused'; readonly code: string }
  /** Something is missing that will arrive: it is tried again. */
  | { readonly kind: 'waits' }

/** The outcome of an attempt to sign. */
export type Signed<Entry extends JournalEntry = JournalEntry> =
  | { readonly kind: 'signed'; readonly entry: Entry }
  | Unsigned

/**
 * Whether the payout is covered: by the signer's journal so much was swept for its merchant and not signed away, and the
 * watcher has sealed that it arrived. The database can say more only if its rows were forged, the journal was lost, or
 * the watcher has no key.
 */
export async function isSignedFor(signer: SigningContext, payout: Payout, rows: Unmoved): Promise<boolean> {
  const { amount, unsealed } = await creditOf(signer, payout, rows)
  if (amount >= payout.amount) return true
  if (unsealed.length === 0)
    alert(signer, payout, 'the database says that more was swept for the merchant than was signed; it waits')
  else if (signer.alerts.isNew(payout.id, `unsealed ${unsealed.join()}`))
    signer.log.error(
      { payoutId: payout.id, unsealed: unsealed.slice(0, UNSEALED_LOGGED_MAX) },
      'the database says that sweeps landed or payouts failed, and the watcher has not sealed it: they count for nothing, and the payout waits',
    )
  return false
}

/** Ids in one line of the log. */
const UNSEALED_LOGGED_MAX = 20

export const WAITS: Unsigned = { kind: 'waits' }

/**
 * What payouts on one family of chains need of the signer beside what is the same for all of them (see sign-payouts). It
 * builds and signs the payout's transactions, and writes neither the journal nor, before `publish`, the database.
 */
export type PayoutSigner = {
  /** What is done on a network at every pass, whether or not there are payouts, and before any was approved. */
  maintain?(signer: SigningContext, network: Network): Promise<void>
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
