import type { Invoice, Payment } from 'paylink-sdk'

const STATUSES: { readonly [status in Invoice['status']]: string } = {
  awaiting_payment: 'No payment has been seen yet.',
  payment_detected: 'A payment was seen, and is in no block yet.',
  confirming: 'A payment is in a block, and not final yet.',
  partially_paid: 'What came is final, and is less than the amount due.',
  paid: 'The amount due came, and is final.',
  overpaid: 'More than the amount due came, and is final.',
  expired: 'The deadline passed, and nothing had paid it.',
  cancelled: 'It was cancelled.',
  manual_review: 'Money came that needs the decision of a person.',
}

const ACCEPTED = 'A person accepted what came.'

const REVIEWS: { readonly [reason in NonNullable<Invoice['review_reason']>]: string } = {
  wrong_asset: 'The buyer sent another coin than the invoice asks for.',
  wrong_network: 'The buyer sent the right token on a network that the invoice does not take.',
  late: 'The payment came after the deadline.',
  cancelled: 'The payment came after the invoice was cancelled.',
  after_settlement: 'A further payment came to an invoice that was paid already.',
  too_many_payments: 'More payments came than anybody needs to pay this.',
  reorged: 'The chain took back a payment that had been final.',
}

const PAYMENT_STATUSES: { readonly [status in Payment['status']]: string } = {
  detected: 'seen, in no block yet',
  confirming: 'in a block, not final yet',
  confirmed: 'final',
  replaced: 'replaced by another transaction: it will not arrive',
  reorged: 'taken back by the chain',
}

/** Why an invoice has the status that it has, in sentences, one a line. `payments`: all that are to be told of. */
export function explainInvoice(invoice: Invoice, payments: readonly Payment[], now: Date): string {
  const { asset, usd_amount: usd } = invoice
  return [
    `Invoice ${invoice.id} (${invoice.livemode ? 'live' : 'test'} mode) is ${invoice.status}. ${invoice.status_reason === 'accepted' ? ACCEPTED : STATUSES[invoice.status]}`,
    `Due: ${invoice.amount} ${asset}${usd === null ? '' : ` (${usd} US dollars)`}. Seen: ${invoice.amount_detected} ${asset}. Final: ${invoice.amount_confirmed} ${asset}. Still to come: ${invoice.amount_remaining} ${asset}.`,
    `Created ${invoice.created_at}; payable until ${invoice.expires_at}.`,
    ...(invoice.paid_at === null ? [] : [`Paid ${invoice.paid_at}.`]),
    ...(invoice.cancelled_at === null ? [] : [`Cancelled ${invoice.cancelled_at}.`]),
    ...expiryOf(invoice),
    ...payments.map(paymentLine),
    ...(invoice.payments_count > payments.length
      ? [`There are ${invoice.payments_count} payments in all.`]
      : []),
    ...invoice.dust.map(
      (dust) =>
        `Ignored, too small to be a payment: ${dust.amount} ${dust.asset} in ${dust.transfers_count} transfers.`,
    ),
    ...(invoice.review_reason === null ? [] : [REVIEWS[invoice.review_reason]]),
    ...nextStep(invoice, now),
  ].join('\n')
}

function expiryOf({ expiry_reading: reading, expires_at: deadline }: Invoice): string[] {
  if (reading === null) return []
  const { network, tip_height: height, read_at: at, providers } = reading
  return [
    `It expired because ${network} was read up to block ${height} at ${at}, after the deadline ${deadline}, by ${providers.join(', ')}, and nothing had paid it by then.`,
  ]
}

function paymentLine(payment: Payment): string {
  const { amount, asset, txid, status, confirmations, confirmations_required: required } = payment
  const depth =
    status === 'confirming'
      ? ` (${confirmations}${required === null ? '' : ` of ${required}`} confirmations)`
      : ''
  const review = payment.review_reason === null ? '' : ` ${REVIEWS[payment.review_reason]}`
  return `Payment of ${amount} ${asset}, seen ${payment.detected_at}, transaction ${txid}: ${PAYMENT_STATUSES[status]}${depth}.${review}`
}

/** What can be done now, and by whom. A person's decision comes first: until then nobody should pay again. */
function nextStep(invoice: Invoice, now: Date): string[] {
  const { status } = invoice
  const isOver = now.getTime() > Date.parse(invoice.expires_at)
  if (status === 'payment_detected' || status === 'confirming')
    return Number(invoice.amount_remaining) > 0 && !isOver && invoice.review_reason === null
      ? ['Next: the buyer can send the rest before the deadline.']
      : ['Next: nobody has to do anything until it is final; send nothing more meanwhile.']
  if (status === 'manual_review' || invoice.review_reason !== null)
    return ['Next: a person decides about what came at the dashboard, under Needs review.']
  if (status === 'overpaid')
    return ['Next: a person decides about the surplus at the dashboard, unless that was done before.']
  if (status === 'partially_paid')
    return isOver
      ? ['Next: a person accepts or dismisses what came, at the dashboard, unless that was done before.']
      : ['Next: the buyer can send the rest before the deadline.']
  if (status === 'awaiting_payment')
    return isOver
      ? ['Next: the buyer should send nothing more. The chain is read once more, then the invoice expires.']
      : ['Next: the buyer pays on the page at checkout_url.']
  if (status === 'expired' || status === 'cancelled')
    return ['Next: create a new invoice if the buyer still wants to pay.']
  return []
}
