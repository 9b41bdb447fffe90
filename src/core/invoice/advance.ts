import { atLeast, isFinal, strictestFinality } from '../finality.ts'
import { announceConfirming, announceDetected, announceOutcome, type Progress } from './announce.ts'
import { classifyTransfer, isLateForDeadline, reviewReasonInBlock } from './classify.ts'
import { bucketOf, deriveStatus, isUnderReview } from './status.ts'
import type {
  ChainReading,
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
      return input.resolution === 'accept' ? accept(invoice, input.nowMs) : dismiss(invoice)
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
  told: readonly TransferFact[],
  newPaymentIds: readonly string[],
  nowMs: number,
): Progress {
  const facts = told.filter((fact) => !isStale(findPayment(invoice, fact), fact))
  let progress: Progress = { invoice, events: [] }
  progress = each(progress, facts, (current, fact) => withdraw(current, fact))
  progress = each(progress, facts, (current, fact, index) =>
    sight(current, fact, newPaymentIds[index], nowMs),
  )
  progress = announceDetected(progress)
  progress = each(progress, facts, (current, fact) => include(current, fact, nowMs))
  progress = announceConfirming(progress)
  progress = each(progress, facts, (current, fact) => finalise(current, fact, nowMs))
  return announceOutcome(progress, nowMs)
}

/** Whether the fact would take the payment out of a block that its reading did not know. */
function isStale(payment: Payment | undefined, fact: TransferFact): boolean {
  if (payment?.block == null || payment.block.hash === fact.knownIn) return false
  const staysThere = fact.state === 'block' && payment.block.hash === fact.block.hash
  return !staysThere
}

function each(
  progress: Progress,
  facts: readonly TransferFact[],
  step: (invoice: Invoice, fact: TransferFact, index: number) => Invoice,
): Progress {
  return { ...progress, invoice: facts.reduce(step, progress.invoice) }
}

/** Takes back what the chain took back: a payment out of its block, out of the mempool, or no longer final. */
function withdraw(invoice: Invoice, fact: TransferFact): Invoice {
  return updatePayment(invoice, fact, (payment) => {
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
  })
}

/** Records a transfer that is new, or that has come back. */
function sight(invoice: Invoice, fact: TransferFact, newId: string | undefined, nowMs: number): Invoice {
  if (fact.state === 'replaced' || fact.state === 'reorged') return invoice
  if (findPayment(invoice, fact) === undefined) {
    if (newId === undefined) throw new Error('a fact about a new transfer came without an id for it')
    return { ...invoice, payments: [...invoice.payments, newPayment(invoice, fact, newId, nowMs)] }
  }
  return updatePayment(invoice, fact, (payment) => {
    const firstSeenMs = Math.min(payment.firstSeenMs, fact.firstSeenMs)
    const gone = payment.status === 'replaced' || payment.status === 'reorged'
    return {
      ...withOwnAmount(invoice, payment, fact),
      firstSeenMs,
      status: gone ? 'detected' : payment.status,
      // The including block may be older than our own sighting (a miner's clock, a node that was away).
      late: payment.reviewReason === null && isLateForDeadline(invoice, firstSeenMs),
    }
  })
}

/**
 * A contract may pay a different amount when its transaction moves to another block, and an amount that was taken
 * back may have been invented: then the new block's amount counts. Within one block the amount never changes.
 */
function withOwnAmount(invoice: Invoice, payment: Payment, fact: TransferFact): Payment {
  const isSameBlock = fact.state !== 'block' || payment.block?.hash === fact.block.hash
  if (isSameBlock || fact.amount === payment.amount) return payment
  const { dust, reviewReason } = classifyTransfer(invoice, fact)
  return { ...payment, amount: fact.amount, dust, reviewReason }
}

function newPayment(invoice: Invoice, fact: TransferFact, id: string, nowMs: number): Payment {
  const { dust, reviewReason, late } = classifyTransfer(invoice, fact)
  return {
    id,
    network: fact.network,
    txid: fact.txid,
    outputIndex: fact.outputIndex,
    asset: fact.asset,
    amount: fact.amount,
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

function include(invoice: Invoice, fact: TransferFact, nowMs: number): Invoice {
  if (fact.state !== 'block') return invoice
  return updatePayment(invoice, fact, (payment) => {
    const reviewReason = reviewReasonInBlock(invoice, payment, fact.block, nowMs)
    return {
      ...payment,
      status: payment.status === 'detected' ? 'confirming' : payment.status,
      block: fact.block,
      reviewReason,
      late: payment.late && reviewReason === null,
    }
  })
}

function finalise(invoice: Invoice, fact: TransferFact, nowMs: number): Invoice {
  if (fact.state !== 'block') return invoice
  return updatePayment(invoice, fact, (payment) =>
    payment.status === 'confirming' && isFinal(payment.finality, fact)
      ? { ...payment, status: 'confirmed', confirmedAtMs: nowMs }
      : payment,
  )
}

/** An invoice expires only once everything that could pay it was read past its deadline, and nothing did. */
function applyDeadline(invoice: Invoice, readAtMs: number, expiryReading: ChainReading | null): Progress {
  const isDue = readAtMs > invoice.expiresAtMs && invoice.expiredAtMs === null
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
    invoice.payments.some(isUnderReview)
  )
}

/** Takes all that is confirmed as full payment. What is still unconfirmed keeps its review. */
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
  return finish(invoice, announceOutcome({ invoice: next, events: [] }, nowMs))
}

/** Closes the open reviews; the status follows from the other facts again. The money stays the merchant's. */
function dismiss(invoice: Invoice): InvoiceAdvance {
  if (!isResolvable(invoice)) return { kind: 'refused', code: 'invoice_not_resolvable' }
  const payments = invoice.payments.map(
    (payment): Payment => (isUnderReview(payment) ? { ...payment, resolution: 'dismissed' } : payment),
  )
  const dismissed: Invoice = { ...invoice, payments }
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
  const payments = progress.invoice.payments.map((payment): Payment => {
    const to = bucketOf(payment)
    const known = before.payments.find(({ id }) => id === payment.id)
    const isOtherAmount = known !== undefined && known.amount !== payment.amount && known.bucket !== 'none'
    // What was posted is reversed with its own amount before the new amount is posted.
    const { bucket, postings } = isOtherAmount ? move(known, 'none') : payment
    return to === bucket ? { ...payment, bucket, postings } : move({ ...payment, bucket, postings }, to)
  })
  const changed = progress.invoice !== before
  return { kind: 'advanced', next: changed ? { ...progress.invoice, payments } : before, effects }
}

function findPayment(invoice: Invoice, fact: TransferFact): Payment | undefined {
  return invoice.payments.find((payment) => isSameTransfer(payment, fact))
}

function isSameTransfer(payment: Payment, fact: TransferFact): boolean {
  return (
    payment.txid === fact.txid && payment.outputIndex === fact.outputIndex && payment.network === fact.network
  )
}

function updatePayment(invoice: Invoice, fact: TransferFact, change: (payment: Payment) => Payment): Invoice {
  return {
    ...invoice,
    payments: invoice.payments.map((payment) => (isSameTransfer(payment, fact) ? change(payment) : payment)),
  }
}

function unreachable(value: never): never {
  throw new Error(`not a possible input: ${JSON.stringify(value)}`)
}
