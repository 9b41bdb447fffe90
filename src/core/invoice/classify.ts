import { COINS } from '../assets.ts'
import { isSettled } from './status.ts'
import type { Invoice, PaymentReviewReason, TransferFact } from './types.ts'

/** Automatic discovery goes on this long after expiry or cancellation (spec §1, §8). */
export const DISCOVERY_HORIZON_MS = 10 * 60_000

/** What a transfer means when it is first seen. Decided once; only `late` is ever corrected. */
export function classifyTransfer(
  invoice: Invoice,
  fact: TransferFact,
): { dust: boolean; late: boolean; reviewReason: PaymentReviewReason | null } {
  if (fact.amount < COINS[fact.asset].dustBelow) return { dust: true, late: false, reviewReason: null }
  const reviewReason = reviewReasonFor(invoice, fact)
  return {
    dust: false,
    late: reviewReason === null && isLateForDeadline(invoice, fact.firstSeenMs),
    reviewReason,
  }
}

function reviewReasonFor(invoice: Invoice, fact: TransferFact): PaymentReviewReason | null {
  if (fact.asset !== invoice.asset || fact.isForeign === true) return 'wrong_asset'
  if (isSettled(invoice)) return 'after_settlement'
  if (invoice.cancelledAtMs !== null) {
    return fact.firstSeenMs <= invoice.cancelledAtMs + DISCOVERY_HORIZON_MS ? 'cancelled' : 'late'
  }
  return fact.firstSeenMs <= invoice.expiresAtMs + DISCOVERY_HORIZON_MS ? null : 'late'
}

/** First seen after the deadline; within the horizon it still counts, and says so. */
export function isLateForDeadline(invoice: Invoice, firstSeenMs: number): boolean {
  return firstSeenMs > invoice.expiresAtMs
}
