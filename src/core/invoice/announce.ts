import {
  deriveStatus,
  isCounting,
  isFollowed,
  isSettled,
  isUnderReview,
  reviewReasonOf,
  sumsOf,
} from './status.ts'
import type { Invoice, InvoiceEffect, InvoiceEventType, Payment } from './types.ts'

/** An invoice part of the way through one input, with the events announced so far. */
export type Progress = {
  readonly invoice: Invoice
  readonly events: readonly Extract<InvoiceEffect, { kind: 'event' }>[]
}

function emit(progress: Progress, type: InvoiceEventType, invoice: Invoice): Progress {
  return { invoice, events: [...progress.events, { kind: 'event', type, snapshot: invoice }] }
}

/** `payment_detected` once per invoice; a review that needs no confirmation, once for all that wait. */
export function announceDetected(progress: Progress): Progress {
  const { invoice } = progress
  let next = progress
  if (!invoice.announced.detected && invoice.payments.some((payment) => isFollowed(invoice, payment))) {
    const detected: Invoice = { ...invoice, announced: { ...invoice.announced, detected: true } }
    next = emit(next, 'invoice.payment_detected', detected)
  }
  return announceReviews(next)
}

/** `confirming`, once for all payments that came into a block together. */
export function announceConfirming(progress: Progress): Progress {
  const { invoice } = progress
  const isDue = (payment: Payment) =>
    payment.block !== null && !payment.announced.confirming && isFollowed(invoice, payment)
  return invoice.payments.some(isDue)
    ? emit(progress, 'invoice.confirming', markPayments(invoice, isDue, { confirming: true }))
    : progress
}

/**
 * Announces what the confirmed sum means, each outcome at most once; then what it leaves for the merchant to decide.
 */
export function announceOutcome(progress: Progress, nowMs: number): Progress {
  let next = announceSettlement(progress, nowMs)
  next = announcePartial(next)
  next = reviewSurplus(next)
  next = announceReviews(next)
  return announceReorganisation(next)
}

export function announceSettlement(progress: Progress, nowMs: number): Progress {
  const { invoice } = progress
  const status = deriveStatus(invoice)
  if (status !== 'paid' && status !== 'overpaid') return progress
  const settled: Invoice = {
    ...invoice,
    paidAtMs: invoice.paidAtMs ?? nowMs,
    reorgDismissed: false,
    announced: { ...invoice.announced, [status]: true, reorged: false },
  }
  if (invoice.announced[status]) return { ...progress, invoice: settled }
  return emit(progress, status === 'paid' ? 'invoice.paid' : 'invoice.overpaid', settled)
}

/** Once for each distinct confirmed sum that falls short with nothing pending. */
function announcePartial(progress: Progress): Progress {
  const { invoice } = progress
  if (deriveStatus(invoice) !== 'partially_paid') return progress
  const sum = sumsOf(invoice).confirmed.toString()
  if (invoice.announced.partialSums.includes(sum)) return progress
  const partialSums = [...invoice.announced.partialSums, sum]
  return emit(progress, 'invoice.partially_paid', {
    ...invoice,
    announced: { ...invoice.announced, partialSums },
  })
}

/** What is still under way when the invoice is settled is a further payment: the merchant decides on it. */
export function reviewSurplus(progress: Progress): Progress {
  const { invoice } = progress
  if (!isSettled(invoice)) return progress
  const payments = invoice.payments.map(
    (payment): Payment =>
      isCounting(invoice, payment) && payment.status !== 'confirmed' && payment.resolution === null
        ? { ...payment, reviewReason: 'after_settlement', late: false }
        : payment,
  )
  return { ...progress, invoice: { ...invoice, payments } }
}

/**
 * `manual_review`, once for all payments that wait since now. Money on a cancelled invoice is followed to its
 * confirmation first; too many payments are announced once, until the merchant answers.
 */
function announceReviews(progress: Progress): Progress {
  const { invoice } = progress
  const isDue = (payment: Payment) =>
    isUnderReview(payment) &&
    !payment.announced.review &&
    (payment.reviewReason !== 'cancelled' || payment.status === 'confirmed')
  if (!invoice.payments.some(isDue)) return progress
  const marked = markPayments(invoice, isDue, { review: true })
  const isKnown =
    invoice.payments.every((payment) => !isDue(payment) || payment.isBlockSum) && isFloodAnnounced(invoice)
  return isKnown ? { ...progress, invoice: marked } : emit(progress, 'invoice.manual_review', marked)
}

/** Too many payments were announced, and the merchant did not answer yet. */
const isFloodAnnounced = ({ payments, blockSums }: Invoice): boolean =>
  blockSums.some((sum) => isUnderReview(sum)) ||
  payments.some((payment) => payment.isBlockSum && isUnderReview(payment) && payment.announced.review)

/** `manual_review`, each time that settled value has left the chain. */
function announceReorganisation(progress: Progress): Progress {
  const { invoice } = progress
  if (reviewReasonOf(invoice) !== 'reorged' || invoice.announced.reorged) return progress
  return emit(progress, 'invoice.manual_review', {
    ...invoice,
    announced: { ...invoice.announced, reorged: true },
  })
}

function markPayments(
  invoice: Invoice,
  isDue: (payment: Payment) => boolean,
  mark: Partial<Payment['announced']>,
): Invoice {
  return {
    ...invoice,
    payments: invoice.payments.map((payment) =>
      isDue(payment) ? { ...payment, announced: { ...payment.announced, ...mark } } : payment,
    ),
  }
}
