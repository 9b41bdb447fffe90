import { type AssetId, COINS, isAssetId, isToken, type PaymentAsset } from '../assets.ts'
import type { Invoice, InvoiceStatus, LedgerBucket, Payment, ReviewReason } from './types.ts'
import { type MeasuredInvoice, measureOf } from './value.ts'

/** What the rules below read of a payment. */
type JudgedPayment = Pick<Payment, 'status' | 'dust' | 'asset' | 'amount' | 'reviewReason' | 'resolution'>

/** What the rules below read of an invoice. Invoices that agree in these fields have the same status. */
type JudgedInvoice = MeasuredInvoice &
  Pick<Invoice, 'alsoAccepts' | 'expiredAtMs' | 'cancelledAtMs' | 'acceptedAtMs' | 'reorgDismissed'> & {
    readonly announced: Pick<Invoice['announced'], 'paid' | 'overpaid'>
    readonly payments: readonly JudgedPayment[]
    readonly blockSums: readonly JudgedPayment[]
  }

/** All that came to an invoice. */
export const judgedOf = ({
  payments,
  blockSums,
}: Omit<JudgedInvoice, 'announced'>): readonly JudgedPayment[] =>
  blockSums.length === 0 ? payments : [...payments, ...blockSums]

/** In a block or in the mempool, as far as we know. */
export function isLive(payment: JudgedPayment): boolean {
  return payment.status === 'detected' || payment.status === 'confirming' || payment.status === 'confirmed'
}

/** Whether this money is what the invoice asks for, on whichever network. */
export const isAskedFor = (invoice: Pick<Invoice, 'asset' | 'alsoAccepts'>, asset: PaymentAsset): boolean =>
  asset === invoice.asset || invoice.alsoAccepts.some((also) => also === asset)

/** Whether it is the token that the invoice asks for, or another of its issuers', on a network on which that was not accepted. */
export function isOnWrongNetwork(
  invoice: Pick<Invoice, 'asset' | 'alsoAccepts'>,
  asset: PaymentAsset,
): boolean {
  const isNamed = (asked: PaymentAsset) => COINS[asked].symbol === COINS[asset].symbol
  return (
    isToken(asset) && !isAskedFor(invoice, asset) && [invoice.asset, ...invoice.alsoAccepts].some(isNamed)
  )
}

/** Counts towards the invoice's amount: live, of its coin, not dust, and not waiting for the merchant's word. */
export function isCounting(invoice: JudgedInvoice, payment: JudgedPayment): boolean {
  return (
    isLive(payment) &&
    !payment.dust &&
    isAskedFor(invoice, payment.asset) &&
    (payment.reviewReason === null || payment.resolution === 'accepted')
  )
}

/** Waits for the merchant: live, under review, and not answered. */
export function isUnderReview(payment: JudgedPayment): boolean {
  return isLive(payment) && payment.reviewReason !== null && payment.resolution === null
}

/**
 * A payment whose progress the merchant and buyer follow: one that counts, or one on a cancelled invoice, which
 * is followed to its confirmation and only then put before the merchant.
 */
export function isFollowed(invoice: JudgedInvoice, payment: JudgedPayment): boolean {
  return isCounting(invoice, payment) || (isUnderReview(payment) && payment.reviewReason === 'cancelled')
}

/** What counting payments are worth to the invoice, as `measureOf` adds them up: all live ones, and the final ones. */
export function sumsOf(invoice: JudgedInvoice): { readonly detected: bigint; readonly confirmed: bigint } {
  const { worthOf } = measureOf(invoice)
  let detected = 0n
  let confirmed = 0n
  for (const payment of judgedOf(invoice)) {
    if (!isCounting(invoice, payment)) continue
    const value = worthOf(payment)
    detected += value
    if (payment.status === 'confirmed') confirmed += value
  }
  return { detected, confirmed }
}

/** The sums in base units of the invoice's asset, and what is still to be sent if that is sent in it. */
export function amountsOf(invoice: JudgedInvoice): {
  detected: bigint
  confirmed: bigint
  remaining: bigint
} {
  const { unitsOf } = measureOf(invoice)
  const sums = sumsOf(invoice)
  const detected = unitsOf(sums.detected)
  const remaining = invoice.amount > detected ? invoice.amount - detected : 0n
  return { detected, confirmed: unitsOf(sums.confirmed), remaining }
}

/** What is still to be sent if that is sent in this asset, which the invoice takes: base units. */
export function remainingIn(invoice: JudgedInvoice, asset: AssetId): bigint {
  const { due, unitsFor } = measureOf(invoice)
  const { detected } = sumsOf(invoice)
  return due > detected ? unitsFor(due - detected, asset) : 0n
}

/** Whether less is on its way than settles. */
export const isShort = (invoice: JudgedInvoice): boolean =>
  sumsOf(invoice).detected < measureOf(invoice).least

/** What the confirmed sum means against the amount and its tolerances. */
type Outcome = 'none' | 'short' | 'exact' | 'over'

function outcomeOf(invoice: JudgedInvoice): Outcome {
  const { confirmed } = sumsOf(invoice)
  const { least, most } = measureOf(invoice)
  if (confirmed === 0n) return 'none'
  if (confirmed < least) return 'short'
  return confirmed <= most ? 'exact' : 'over'
}

/** The merchant was notified of settlement, or decided it, at some time; the facts may have changed since. */
export function wasSettled(invoice: JudgedInvoice): boolean {
  return invoice.announced.paid || invoice.announced.overpaid || invoice.acceptedAtMs !== null
}

/** The merchant's acceptance still stands: every payment it rested on is still final. */
function isAcceptanceIntact(invoice: JudgedInvoice): boolean {
  return (
    invoice.acceptedAtMs !== null &&
    judgedOf(invoice).every((payment) => payment.resolution !== 'accepted' || payment.status === 'confirmed')
  )
}

/** Enough is final now, by the sum or by the merchant's word. */
export function isSettled(invoice: JudgedInvoice): boolean {
  if (isAcceptanceIntact(invoice)) return true
  const outcome = outcomeOf(invoice)
  return outcome === 'exact' || outcome === 'over'
}

/**
 * The public status, from three facts kept apart: what was paid and how far it is final, what that sum means,
 * and the deadline or cancellation. Nothing else in the program decides a status.
 */
export function deriveStatus(invoice: JudgedInvoice): InvoiceStatus {
  if (isAcceptanceIntact(invoice)) return 'paid'
  const outcome = outcomeOf(invoice)
  if (outcome === 'exact') return 'paid'
  if (outcome === 'over') return 'overpaid'
  if (wasSettled(invoice) && !invoice.reorgDismissed) return 'manual_review'

  const pending = judgedOf(invoice).filter(
    (payment) => isFollowed(invoice, payment) && payment.status !== 'confirmed',
  )
  if (pending.some((payment) => payment.status === 'confirming')) return 'confirming'
  if (pending.length > 0) return 'payment_detected'
  if (judgedOf(invoice).some((payment) => isUnderReview(payment) && decidesStatus(payment)))
    return 'manual_review'
  if (outcome === 'short') return 'partially_paid'
  if (invoice.cancelledAtMs !== null) return 'cancelled'
  return invoice.expiredAtMs === null ? 'awaiting_payment' : 'expired'
}

/**
 * Money that came late, after cancellation or in too many payments must be decided on first; the other reasons leave
 * the invoice payable or settled.
 */
function decidesStatus({ reviewReason }: JudgedPayment): boolean {
  return reviewReason === 'late' || reviewReason === 'cancelled' || reviewReason === 'too_many_payments'
}

/** Why the invoice waits for the merchant, or null: the gravest reason, then the oldest payment's. */
export function reviewReasonOf(invoice: Invoice): ReviewReason | null {
  if (wasSettled(invoice) && !isSettled(invoice) && !invoice.reorgDismissed) return 'reorged'
  return firstOpenReview(invoice)?.reviewReason ?? null
}

function firstOpenReview(invoice: Invoice): JudgedPayment | undefined {
  const open = judgedOf(invoice).filter(isUnderReview)
  return open.find(decidesStatus) ?? open[0]
}

/** More detail on the status: `accepted` by the merchant, settled `late`, or why a review is open. */
export function statusReasonOf(invoice: Invoice): string | null {
  const status = deriveStatus(invoice)
  if (status === 'manual_review') return reviewReasonOf(invoice)
  if (status !== 'paid' && status !== 'overpaid') return null
  if (isAcceptanceIntact(invoice)) return 'accepted'
  return invoice.payments.some((payment) => payment.late && isCounting(invoice, payment)) ? 'late' : null
}

/** Where a payment's value belongs in the merchant's ledger, from its facts alone. */
export function bucketOf(payment: JudgedPayment): LedgerBucket {
  if (payment.dust || !isLive(payment) || payment.status === 'detected') return 'none'
  if (payment.status === 'confirming') return 'pending'
  // What is available can be paid out, and no payout is made in these.
  if (!isAssetId(payment.asset)) return 'suspense'
  return payment.reviewReason !== null && payment.resolution === null ? 'suspense' : 'available'
}
