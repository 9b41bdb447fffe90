import {
  amountsOf,
  deriveStatus,
  isCounting,
  isFollowed,
  isSettled,
  isUnderReview,
  reviewReasonOf,
} from './status.ts'
import type { Invoice, InvoiceEffect, InvoiceEventType, Payment } from './types.ts'

/** An invoice part of the way through one input, with the events announced so far. */
export type Progress = {
  readonly invoice: Invoice
  readonly events: readonly Extract<InvoiceEffect, { kind: 'event' }>[]
}

function tell(progress: Progress, type: InvoiceEventType, invoice: Invoice): Progress {
  return { invoice, events: [...progress.events, { kind: 'event', type, snapshot: invoice }] }
}

/** `payment_detected` once per invoice; a review that needs no confirmation, once per payment. */
export function announceDetected(progress: Progress): Progress {
  const { invoice } = progress
  let next = progress
  if (!invoice.announced.detected && invoice.payments.some((payment) => isFollowed(invoice, payment))) {
    const told: Invoice = { ...invoice, announced: { ...invoice.announced, detected: true } }
    next = tell(next, 'invoice.payment_detected', told)
  }
  return announceReviews(next)
}

/** `confirming`, once per payment that came into a block. */
export function announceConfirming(progress: Progress): Progress {
  let next = progress
  for (const payment of progress.invoice.payments) {
    if (payment.block === null || payment.announced.confirming || !isFollowed(next.invoice, payment)) continue
    const told = markPayment(next.invoice, payment, { confirming: true })
    next = tell(next, 'invoice.confirming', told)
  }
  return next
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

function announceSettlement(progress: Progress, nowMs: number): Progress {
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
  return tell(progress, status === 'paid' ? 'invoice.paid' : 'invoice.overpaid', settled)
}

/** Once for each distinct confirmed sum that falls short with nothing pending. */
function announcePartial(progress: Progress): Progress {
  const { invoice } = progress
  if (deriveStatus(invoice) !== 'partially_paid') return progress
  const sum = amountsOf(invoice).confirmed.toString()
  if (invoice.announced.partialSums.includes(sum)) return progress
  const partialSums = [...invoice.announced.partialSums, sum]
  return tell(progress, 'invoice.partially_paid', {
    ...invoice,
    announced: { ...invoice.announced, partialSums },
  })
}

/** What is still under way when the invoice is settled is a further payment: the merchant decides on it. */
function reviewSurplus(progress: Progress): Progress {
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

/** `manual_review`, once per payment. Money on a cancelled invoice is followed to its confirmation first. */
function announceReviews(progress: Progress): Progress {
  let next = progress
  for (const payment of progress.invoice.payments) {
    if (!isUnderReview(payment) || payment.announced.review || payment.dust) continue
    if (payment.reviewReason === 'cancelled' && payment.status !== 'confirmed') continue
    next = tell(next, 'invoice.manual_review', markPayment(next.invoice, payment, { review: true }))
  }
  return next
}

/** `manual_review`, each time that settled value has left the chain. */
function announceReorganisation(progress: Progress): Progress {
  const { invoice } = progress
  if (reviewReasonOf(invoice) !== 'reorged' || invoice.announced.reorged) return progress
  return tell(progress, 'invoice.manual_review', {
    ...invoice,
    announced: { ...invoice.announced, reorged: true },
  })
}

function markPayment(invoice: Invoice, payment: Payment, mark: Partial<Payment['announced']>): Invoice {
  return {
    ...invoice,
    payments: invoice.payments.map((other) =>
      other.id === payment.id ? { ...other, announced: { ...other.announced, ...mark } } : other,
    ),
  }
}
