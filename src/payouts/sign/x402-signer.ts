import type { X402Authorization, X402Transaction } from '../../db/invoices/x402-authorizations.ts'
import type { Tx } from '../../postgres/transaction.ts'
import type { JournalEntry } from './journal-lines.ts'
import type { SigningContext } from './signing-context.ts'

/** What x402 needs of the signer on one family of chains, beside what is the same for all of them (see sign-x402). */
export type X402Signer = {
  /** First signatures in an hour on one network: each may cost the signer's own coins, and a payer who makes it fail pays nothing. */
  readonly perHourMax: number
  /** Whether something is to be signed now. `last`: what was signed last; undefined where nothing was. */
  isDue(authorization: X402Authorization, last: JournalEntry | undefined, nowMs: number): boolean
  /**
   * Builds and signs, after it has verified all that the database says of the payment. Null while it has to wait, or where it
   * is none.
   */
  build(
    signer: SigningContext,
    authorization: X402Authorization,
    of: { readonly last: JournalEntry | undefined; readonly digest: Buffer },
  ): Promise<JournalEntry | null>
  /** What is sent before it. */
  creationOf(entry: JournalEntry): X402Transaction['creation']
  /** Writes what a signed transaction uses up, in the database transaction that writes it. */
  publish(tx: Tx, authorization: X402Authorization, entry: JournalEntry): Promise<void>
}
