import { type Network, networkOf } from '../assets.ts'
import { atLeast, isFinal, strictestFinality } from '../finality.ts'
import { unreachable } from '../unreachable.ts'
import {
  announceConfirming,
  announceDetected,
  announceOutcome,
  announceSettlement,
  type Progress,
  reviewSurplus,
} from './announce.ts'
import { aboutPayments, keyOfTransfer, type PaymentFact } from './block-sums.ts'
import { classifyTransfer, isLateForDeadline, reviewReasonInBlock } from './classify.ts'
import { bucketOf, deriveStatus, isUnderReview, judgedOf } from './status.ts'
import type {
  ExpiryReading,
  Invoice,
  InvoiceAdvance,
  InvoiceEffect,
  InvoiceInput,
  LedgerBucket,
  Payment,
  TransferFact,
} from './types.ts'

/**
 * The next state of an invoice after `input`, with the events to send and the ledger postings to make. Pure: the
 * caller writes `next` and `effects` in one transaction. Applying the same facts again has no effect.
 */
export function advanceInvoice(invoice: Invoice, input: InvoiceInput): InvoiceAdvance {
  switch (input.kind) {
    case 'transfers':
      return finish(invoice, applyTransfers(invoice, input.facts, input.newPaymentIds, input.nowMs))
    case 'deadline_read':
      return finish(invoice, applyDeadline(invoice, input.readAtMs, input.reading ?? null))
    case 'cancel':
      return cancel(invoice, input.nowMs)
    case 'resolve':
      return input.resolution === 'accept' ? accept(invoice, input.nowMs) : dismiss(invoice, input.paymentIds)
    default:
      return unreachable(input)
  }
}

/**
 * Facts are applied in the order in which value moves: what left the chain, what was seen, what came into a
 * block, what became final. So a payment that is first met deep in the chain still passes every milestone, and
 * all that became final together is summed before it is judged.
 */
function applyTransfers(
  invoice: Invoice,
  reported: readonly TransferFact[],
  newPaymentIds: readonly string[],
  nowMs: number,
): Progress {
  const known = new Map(invoice.payments.map((payment) => [keyOfTransfer(payment), payment]))
  const facts = aboutPayments(invoice, reported, newPaymentIds).filter(
    (fact) => !isStale(known.get(keyOfTransfer(fact)), fact),
  )
  // Also what was under way when the merchant accepted the rest: who accepts writes nothing of what the chain says.
  let progress: Progress = reviewSurplus({ invoice, events: [] })
  progress = each(progress, facts, revert)
  const { invoice: before } = progress
  progress = each(
    progress,
    facts,
    (payment, fact) => sight(before, payment, fact),
    (fact) => newPayment(before, fact, nowMs),
  )
  progress = endAcceptance(before, progress)
  progress = announceDetected(progress)
  progress = each(progress, facts, (payment, fact) => include(invoice, payment, fact, nowMs))
  progress = announceConfirming(progress)
  progress = each(progress, facts, (payment, fact) => finalise(payment, fact, nowMs))
  return announceOutcome(progress, nowMs)
}

/** Whether the fact would take the payment out of a block that its reading did not know. */
function isStale(payment: Payment | undefined, fact: TransferFact): boolean {
  if (payment?.block == null || payment.block.hash === fact.knownIn) return false
  const staysThere = fact.state === 'block' && payment.block.hash === fact.block.hash
  return !staysThere
}

/** Changes the payments that facts are about, each in its place; `add` gives those that are not known yet. */
function each(
  progress: Progress,
  facts: readonly PaymentFact[],
  change: (payment: Payment, fact: PaymentFact) => Payment,
  add: (fact: PaymentFact) => Payment | null = () => null,
): Progress {
  const payments = [...progress.invoice.payments]
  const places = new Map(payments.map((payment, place) => [keyOfTransfer(payment), place]))
  for (const fact of facts) {
    const key = keyOfTransfer(fact)
    const place = places.get(key) ?? payments.length
    const known = payments[place]
    const next = known === undefined ? add(fact) : change(known, fact)
    if (next === null) continue
    payments[place] = next
    places.set(key, place)
  }
  return { ...progress, invoice: { ...progress.invoice, payments } }
}

/** Takes back what the chain took back: a payment out of its block, out of the mempool, or no longer final. */
function revert(payment: Payment, fact: PaymentFact): Payment {
  switch (fact.state) {
    case 'replaced':
    case 'reorged':
      return { ...payment, status: fact.state, block: null, confirmedAtMs: null }
    case 'mempool':
      return payment.block === null
        ? payment
        : { ...payment, status: 'detected', block: null, confirmedAtMs: null }
    case 'block':
      // In the same block with fewer confirmations, the reading is stale or only blocks above it changed:
      // what is final stays final until its own block leaves the chain.
      if (payment.status !== 'confirmed' || payment.block?.hash === fact.block.hash) return payment
      return { ...payment, status: 'confirming', confirmedAtMs: null }
    default:
      return unreachable(fact)
  }
}

/** Looks again at a transfer that is known, or that has come back. */
function sight(invoice: Invoice, payment: Payment, fact: PaymentFact): Payment {
  if (fact.state === 'replaced' || fact.state === 'reorged') return payment
  const firstSeenMs = Math.min(payment.firstSeenMs, fact.firstSeenMs)
  const gone = payment.status === 'replaced' || payment.status === 'reorged'
  const next = withOwnAmount(invoice, payment, fact)
  return {
    ...next,
    firstSeenMs,
    status: gone ? 'detected' : payment.status,
    // The including block may be older than our own sighting (a miner's clock, a node that was away).
    late: next.reviewReason === null && !next.dust && isLateForDeadline(invoice, firstSeenMs),
  }
}

/**
 * A contract may pay a different amount when its transaction moves to another block, and an amount that was taken
 * back may have been invented: then the new block's amount counts, and what the merchant decided of the old one does not
 * hold for it. Within one block the amount never changes; a sum of it does, by what was missed in it, and so does what a
 * node names by the block, until that is final: what it says of the block's transactions, another reading may not.
 */
function withOwnAmount(invoice: Invoice, payment: Payment, fact: PaymentFact): Payment {
  const { amount, parts } = fact
  if (payment.isBlockSum) return parts === undefined ? payment : { ...payment, amount, ...summed(parts) }
  const isSameBlock = fact.state !== 'block' || payment.block?.hash === fact.block.hash
  const isNamedByBlock = payment.block?.hash === payment.txid && payment.status !== 'confirmed'
  if ((isSameBlock && !isNamedByBlock) || amount === payment.amount) return payment
  const { dust, reviewReason } = classifyTransfer(invoice, fact)
  const announced = { ...payment.announced, review: false }
  return { ...payment, amount, ...summed(parts), dust, reviewReason, resolution: null, announced }
}

/** The merchant accepted what was confirmed then: not what one of those payments brings in another block. */
function endAcceptance(before: Invoice, progress: Progress): Progress {
  const { invoice } = progress
  const isUndone = ({ resolution }: Payment, place: number) =>
    resolution === 'accepted' && invoice.payments[place]?.resolution === null
  return before.payments.some(isUndone)
    ? { ...progress, invoice: { ...invoice, acceptedAtMs: null } }
    : progress
}

const summed = (parts: TransferFact['parts']) => ({ parts: parts ?? null, transfers: parts?.length ?? 1 })

function newPayment(invoice: Invoice, fact: PaymentFact, nowMs: number): Payment | null {
  if (fact.state === 'replaced' || fact.state === 'reorged') return null
  const { dust, reviewReason, late } = classifyTransfer(invoice, fact)
  return {
    id: fact.newId,
    network: fact.network,
    txid: fact.txid,
    outputIndex: fact.outputIndex,
    asset: fact.asset,
    amount: fact.amount,
    isBlockSum: fact.isBlockSum,
    ...summed(fact.parts),
    status: 'detected',
    firstSeenMs: fact.firstSeenMs,
    detectedAtMs: nowMs,
    confirmedAtMs: null,
    block: null,
    finality: atLeast(
      fact.minimumConfirmations,
      invoice.confirmations[fact.asset] ?? strictestFinality(fact.asset),
    ),
    late,
    dust,
    reviewReason,
    resolution: null,
    announced: { confirming: false, review: false },
    bucket: 'none',
    postings: 0,
  }
}

function include(invoice: Invoice, payment: Payment, fact: PaymentFact, nowMs: number): Payment {
  if (fact.state !== 'block') return payment
  const reviewReason = reviewReasonInBlock(invoice, payment, fact.block, nowMs)
  return {
    ...payment,
    status: payment.status === 'detected' ? 'confirming' : payment.status,
    block: fact.block,
    reviewReason,
    late: payment.late && reviewReason === null,
  }
}

function finalise(payment: Payment, fact: PaymentFact, nowMs: number): Payment {
  if (fact.state !== 'block' || payment.status !== 'confirming' || !isFinal(payment.finality, fact))
    return payment
  return { ...payment, status: 'confirmed', confirmedAtMs: nowMs }
}

/** The networks beside its asset's on which an invoice may be paid. */
export const networksBeside = ({ alsoAccepts, livemode }: Invoice): readonly Network[] =>
  alsoAccepts.map((asset) => networkOf(asset, livemode))

/** An invoice expires only once everything that could pay it was read past its deadline, and nothing did. */
function applyDeadline(invoice: Invoice, readAtMs: number, expiryReading: ExpiryReading | null): Progress {
  const others = expiryReading?.others ?? []
  const isRead = networksBeside(invoice).every((network) =>
    others.some((other) => other.network === network && other.readAtMs > invoice.expiresAtMs),
  )
  const isDue = isRead && readAtMs > invoice.expiresAtMs && invoice.expiredAtMs === null
  if (!isDue || deriveStatus(invoice) !== 'awaiting_payment') return { invoice, events: [] }
  const expired: Invoice = { ...invoice, expiredAtMs: readAtMs, expiryReading }
  if (invoice.announced.expired) return { invoice: expired, events: [] }
  const next: Invoice = { ...expired, announced: { ...expired.announced, expired: true } }
  return { invoice: next, events: [{ kind: 'event', type: 'invoice.expired', snapshot: next }] }
}

function cancel(invoice: Invoice, nowMs: number): InvoiceAdvance {
  const status = deriveStatus(invoice)
  if (status !== 'awaiting_payment' && status !== 'expired') {
    return { kind: 'refused', code: 'invoice_not_cancellable' }
  }
  return finish(invoice, { invoice: { ...invoice, cancelledAtMs: nowMs }, events: [] })
}

/** Whether there is anything for the merchant to decide. */
function isResolvable(invoice: Invoice): boolean {
  const status = deriveStatus(invoice)
  return (
    status === 'partially_paid' ||
    status === 'overpaid' ||
    status === 'manual_review' ||
    judgedOf(invoice).some(isUnderReview)
  )
}

/** Takes all that is confirmed as full payment. What is under way is reviewed once the chain says something of it again. */
function accept(invoice: Invoice, nowMs: number): InvoiceAdvance {
  const accepted = (payment: Payment) => payment.status === 'confirmed' && !payment.dust
  if (!isResolvable(invoice) || !invoice.payments.some(accepted)) {
    return { kind: 'refused', code: 'invoice_not_resolvable' }
  }
  const next: Invoice = {
    ...invoice,
    acceptedAtMs: nowMs,
    paidAtMs: invoice.paidAtMs ?? nowMs,
    payments: invoice.payments.map((payment) =>
      // A payment that was accepted earlier and has left the chain is not accepted again.
      accepted(payment)
        ? { ...payment, resolution: 'accepted' }
        : { ...payment, resolution: payment.resolution === 'accepted' ? null : payment.resolution },
    ),
  }
  return finish(invoice, announceSettlement({ invoice: next, events: [] }, nowMs))
}

/**
 * Closes the open reviews, or those of the payments that somebody has looked at; the status follows from the other facts
 * again. The money stays the merchant's.
 */
function dismiss(invoice: Invoice, paymentIds?: readonly string[]): InvoiceAdvance {
  if (!isResolvable(invoice)) return { kind: 'refused', code: 'invoice_not_resolvable' }
  const closes = (payment: Payment) =>
    isUnderReview(payment) && (paymentIds === undefined || paymentIds.includes(payment.id))
  if (paymentIds !== undefined && !invoice.payments.some(closes))
    return { kind: 'refused', code: 'invoice_not_resolvable' }
  const payments = invoice.payments.map(
    (payment): Payment => (closes(payment) ? { ...payment, resolution: 'dismissed' } : payment),
  )
  const dismissed: Invoice = { ...invoice, payments }
  if (paymentIds !== undefined) return finish(invoice, { invoice: dismissed, events: [] })
  const reorgDismissed = dismissed.announced.reorged || dismissed.reorgDismissed
  return finish(invoice, { invoice: { ...dismissed, reorgDismissed }, events: [] })
}

/** Adds the ledger postings that the change of facts calls for. */
function finish(before: Invoice, progress: Progress): InvoiceAdvance {
  const effects: InvoiceEffect[] = [...progress.events]
  const move = (payment: Payment, to: LedgerBucket): Payment => {
    const posted: Payment = { ...payment, bucket: to, postings: payment.postings + 1 }
    effects.push({ kind: 'posting', payment: posted, from: payment.bucket, to, number: posted.postings })
    return posted
  }
  const knownOf = new Map(before.payments.map((payment) => [payment.id, payment]))
  const payments = progress.invoice.payments.map((payment): Payment => {
    const to = bucketOf(payment)
    const known = knownOf.get(payment.id)
    const isOtherAmount = known !== undefined && known.amount !== payment.amount && known.bucket !== 'none'
    // What was posted is reversed with its own amount before the new amount is posted.
    const { bucket, postings } = isOtherAmount ? move(known, 'none') : payment
    return to === bucket ? { ...payment, bucket, postings } : move({ ...payment, bucket, postings }, to)
  })
  const changed = progress.invoice !== before
  return { kind: 'advanced', next: changed ? { ...progress.invoice, payments } : before, effects }
}
