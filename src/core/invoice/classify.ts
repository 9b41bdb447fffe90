import { isDust, isDustSum, type PaymentFact } from './block-sums.ts'
import { isAskedFor, isCounting, isOnWrongNetwork, isSettled } from './status.ts'
import type { BlockRef, Invoice, Payment, PaymentReviewReason } from './types.ts'

/** Automatic discovery goes on this long after expiry or cancellation (spec §1, §8). */
export const DISCOVERY_HORIZON_MS = 10 * 60_000

/**
 * A payment seen in time must come into its first block this long after the deadline. A buyer who pays too low a fee
 * could otherwise keep the invoice's price for weeks, and confirm or replace the payment as the market moves.
 */
const FIRST_BLOCK_LIMIT_MS = 24 * 3_600_000

/** What a transfer means when it is first seen. Decided once; only `late` is ever corrected. */
export function classifyTransfer(
  invoice: Invoice,
  fact: PaymentFact,
): { dust: boolean; late: boolean; reviewReason: PaymentReviewReason | null } {
  const dust = fact.isBlockSum ? isDustSum(fact) : isDust(fact)
  if (dust) return { dust, late: false, reviewReason: null }
  const reviewReason = reviewReasonFor(invoice, fact)
  return {
    dust: false,
    late: reviewReason === null && isLateForDeadline(invoice, fact.firstSeenMs),
    reviewReason,
  }
}

function reviewReasonFor(invoice: Invoice, fact: PaymentFact): PaymentReviewReason | null {
  if (fact.isBlockSum) return 'too_many_payments'
  if (isOnWrongNetwork(invoice, fact.asset)) return 'wrong_network'
  if (!isAskedFor(invoice, fact.asset)) return 'wrong_asset'
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

/**
 * What a payment means in this block: one that counts and comes into its first block past the limit is `late`. The
 * block's time is what matters where we read it late; our own clock, where a miner's runs ahead.
 */
export function reviewReasonInBlock(
  invoice: Invoice,
  payment: Payment,
  block: BlockRef,
  nowMs: number,
): PaymentReviewReason | null {
  const isFirstBlock = isCounting(invoice, payment) && !payment.announced.confirming
  const includedMs = Math.min(block.timeMs, nowMs)
  return isFirstBlock && includedMs > invoice.expiresAtMs + FIRST_BLOCK_LIMIT_MS
    ? 'late'
    : payment.reviewReason
}
