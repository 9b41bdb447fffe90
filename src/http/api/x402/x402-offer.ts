import type { X402Terms } from '../../../core/x402/judge-authorization.ts'
import type { X402Authorization } from '../../../db/invoices/x402-authorizations.ts'
import type { SignedTransfer, X402Invoice } from '../../../flows/x402-payments.ts'
import type { Pool } from '../../../postgres/pool.ts'
import type { X402Payment } from '../../../wire/x402.ts'

type OfferDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly now: Date
  readonly staging: boolean
}

/** What was handed in, by all but the chain: a payment of the invoice, or why it is none. `payer`: as the chain writes it. */
type Judged =
  | { readonly kind: 'refused'; readonly reason: string; readonly payer: string }
  | {
      readonly kind: 'good'
      readonly transfer: SignedTransfer
      readonly payer: string
      /** Why it is too late for it now; it may have been handed in, and settled, in time. Null where it is not. */
      readonly lateness: string | null
    }

/** How an invoice can be paid now. */
export type X402Offer = {
  readonly terms: X402Terms
  /**
   * Whether nothing new is taken now: carrying it costs more than it brings, or who pays for that has no coins or was not read
   * lately. Whoever has paid still hears what became of it.
   */
  readonly isClosed: boolean
  /** Null where the payload is of no kind that this chain has. */
  judge(payment: X402Payment): Judged | null
  /** As the chain writes it. */
  payerOf(authorization: X402Authorization): string
}

/** Null while nobody could carry a payment. */
export type OfferOf = (deps: OfferDeps, of: X402Invoice) => Promise<X402Offer | null>
