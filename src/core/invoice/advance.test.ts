import { expect, test } from 'vitest'
import { gone, inBlock, inMempool, makeInvoice, readNow } from '../../../test/support/invoice.ts'
import { advanceInvoice } from './advance.ts'
import { PAYMENTS_MAX, WHOLE_PAYMENTS_MAX } from './block-sums.ts'
import { renderInvoice } from './render.ts'
import { amountsOf, deriveStatus, reviewReasonOf, statusReasonOf } from './status.ts'
import type { Invoice, InvoiceInput, TransferFact } from './types.ts'

const WHOLE = 100_000_000n
const HALF = WHOLE / 2n
const MINUTE_MS = 60_000

/** Applies inputs to an invoice one by one; collects the names of the events it emits. */
function apply(invoice: Invoice, ...inputs: InvoiceInput[]) {
  let current = invoice
  const events: string[] = []
  const postings: string[] = []
  for (const input of inputs) {
    const advance = advanceInvoice(current, readNow(current, input))
    if (advance.kind === 'refused') throw new Error(advance.code)
    current = advance.next
    for (const effect of advance.effects) {
      if (effect.kind === 'event') events.push(effect.type.replace('invoice.', ''))
      else postings.push(`${effect.from}→${effect.to}`)
    }
  }
  return { invoice: current, events, postings, status: deriveStatus(current) }
}

function chain(...facts: TransferFact[]): InvoiceInput {
  return chainAt(makeInvoice().createdAtMs + MINUTE_MS, ...facts)
}

function chainAt(nowMs: number, ...facts: TransferFact[]): InvoiceInput {
  const newPaymentIds = facts.map((fact) => `pay_${fact.txid}`)
  return { kind: 'transfers', facts, newPaymentIds, nowMs }
}

const deadline = (invoice: Invoice): InvoiceInput => ({
  kind: 'deadline_read',
  readAtMs: invoice.expiresAtMs + 1,
})

test('a payment passes every milestone once, and its value moves from pending to available', () => {
  const { events, postings, status, invoice } = apply(
    makeInvoice(),
    chain(inMempool('a', WHOLE)),
    chain(inBlock('a', WHOLE, 1)),
    chain(inBlock('a', WHOLE, 2)),
    chain(inBlock('a', WHOLE, 3)),
  )
  expect(events).toEqual(['payment_detected', 'confirming', 'paid'])
  expect(postings).toEqual(['none→pending', 'pending→available'])
  expect(status).toBe('paid')
  expect(invoice.paidAtMs).not.toBeNull()
})

test('a payment first seen deep in the chain emits every milestone in order, each with its own snapshot', () => {
  const advance = advanceInvoice(makeInvoice(), chain(inBlock('a', WHOLE, 9)))
  if (advance.kind === 'refused') throw new Error(advance.code)
  const result = advance.effects.flatMap((effect) =>
    effect.kind === 'event' ? [[effect.type, deriveStatus(effect.snapshot)]] : [],
  )
  expect(result).toEqual([
    ['invoice.payment_detected', 'payment_detected'],
    ['invoice.confirming', 'confirming'],
    ['invoice.paid', 'paid'],
  ])
})

test('what became final in one block is summed before it is judged', () => {
  const both = [inBlock('a', HALF, 2), inBlock('b', HALF, 2)]
  expect(apply(makeInvoice(), chain(...both)).events).toEqual(['payment_detected', 'confirming', 'paid'])
})

test('more than the amount is overpaid, and tolerance on either side is paid', () => {
  expect(apply(makeInvoice(), chain(inBlock('a', WHOLE + 1n, 2))).status).toBe('overpaid')
  const tolerant = makeInvoice({ toleranceOver: 5n, toleranceUnder: 5n })
  expect(apply(tolerant, chain(inBlock('a', WHOLE + 5n, 2))).status).toBe('paid')
  expect(apply(tolerant, chain(inBlock('a', WHOLE + 6n, 2))).status).toBe('overpaid')
  expect(apply(tolerant, chain(inBlock('a', WHOLE - 5n, 2))).status).toBe('paid')
  expect(apply(tolerant, chain(inBlock('a', WHOLE - 6n, 2))).status).toBe('partially_paid')
})

test('a short payment emits one event per sum, confirmed with nothing pending; the rest completes it', () => {
  const { events, status } = apply(
    makeInvoice(),
    chain(inBlock('a', HALF, 2)),
    chain(inBlock('a', HALF, 3)),
    chain(inBlock('a', HALF, 4), inMempool('b', HALF)),
    chain(inBlock('a', HALF, 5), gone('replaced', 'b', HALF)),
    chain(inBlock('a', HALF, 6), inBlock('c', HALF, 2)),
  )
  expect(events).toEqual(['payment_detected', 'confirming', 'partially_paid', 'confirming', 'paid'])
  expect(status).toBe('paid')
})

test('no event is emitted at the deadline of a partially paid invoice', () => {
  const partial = apply(makeInvoice(), chain(inBlock('a', HALF, 2))).invoice
  expect(apply(partial, deadline(partial))).toMatchObject({ events: [], status: 'partially_paid' })
})

test('an invoice expires once, and not before its deadline was read past', () => {
  const invoice = makeInvoice()
  const early: InvoiceInput = { kind: 'deadline_read', readAtMs: invoice.expiresAtMs }
  expect(apply(invoice, early)).toMatchObject({ events: [], status: 'awaiting_payment' })
  expect(apply(invoice, deadline(invoice), deadline(invoice))).toMatchObject({
    events: ['expired'],
    status: 'expired',
  })
})

/** An invoice with a payment seen before its deadline, and the last moment at which its first block is in time. */
function seenInTime() {
  const invoice = apply(makeInvoice(), chain(inMempool('a', WHOLE))).invoice
  return { invoice, limitMs: invoice.expiresAtMs + 24 * 60 * MINUTE_MS }
}

test('a payment seen in time and mined 24 hours after the deadline still settles the invoice', () => {
  const { invoice, limitMs } = seenInTime()
  const mined = inBlock('a', WHOLE, 2, { blockTimeMs: limitMs })
  expect(apply(invoice, deadline(invoice), chainAt(limitMs + MINUTE_MS, mined))).toMatchObject({
    events: ['confirming', 'paid'],
    status: 'paid',
  })
})

test('a payment seen in time and first mined later than that is reviewed as late, its value in suspense', () => {
  const { invoice, limitMs } = seenInTime()
  const mined = inBlock('a', WHOLE, 2, { blockTimeMs: limitMs + 1 })
  const result = apply(invoice, chainAt(limitMs + MINUTE_MS, mined))
  expect(result).toMatchObject({
    events: ['manual_review'],
    status: 'manual_review',
    postings: ['none→suspense'],
  })
  expect(reviewReasonOf(result.invoice)).toBe('late')
  expect(apply(result.invoice, chainAt(limitMs + 2 * MINUTE_MS, mined)).events).toEqual([])
  const nowMs = limitMs + 2 * MINUTE_MS
  expect(apply(result.invoice, { kind: 'resolve', resolution: 'accept', nowMs })).toMatchObject({
    events: ['paid'],
    postings: ['suspense→available'],
  })
})

test('a block mined in time and read after an outage of a month is in time', () => {
  const { invoice, limitMs } = seenInTime()
  const mined = inBlock('a', WHOLE, 2, { blockTimeMs: limitMs })
  expect(apply(invoice, chainAt(limitMs + 30 * 24 * 60 * MINUTE_MS, mined)).status).toBe('paid')
})

test('a block read in time whose miner dates it two hours ahead is in time', () => {
  const { invoice, limitMs } = seenInTime()
  const mined = inBlock('a', WHOLE, 2, { blockTimeMs: limitMs + 120 * MINUTE_MS })
  expect(apply(invoice, chainAt(limitMs, mined)).status).toBe('paid')
})

test('a payment first mined in time is not late for a later block that a reorganisation puts it in', () => {
  const { invoice, limitMs } = seenInTime()
  const first = inBlock('a', WHOLE, 1, { blockTimeMs: limitMs })
  const second = inBlock('a', WHOLE, 2, { blockTimeMs: limitMs + MINUTE_MS, hash: 'bb'.repeat(32) })
  expect(
    apply(
      invoice,
      chainAt(limitMs, first),
      chainAt(limitMs, inMempool('a', WHOLE)),
      chainAt(limitMs + MINUTE_MS, second),
    ),
  ).toMatchObject({ events: ['confirming', 'paid'], status: 'paid' })
})

test('a payment within ten minutes after the deadline is late and settles an expired invoice', () => {
  const invoice = makeInvoice()
  const firstSeenMs = invoice.expiresAtMs + 10 * MINUTE_MS
  const result = apply(invoice, deadline(invoice), chain(inBlock('a', WHOLE, 2, { firstSeenMs })))
  expect(result.events).toEqual(['expired', 'payment_detected', 'confirming', 'paid'])
  expect(result.invoice.payments[0]?.late).toBe(true)
  expect(statusReasonOf(result.invoice)).toBe('late')
})

test('a payment after the horizon goes to the merchant as suspense, and acceptance pays the invoice', () => {
  const invoice = makeInvoice()
  const firstSeenMs = invoice.expiresAtMs + 10 * MINUTE_MS + 1
  const result = apply(invoice, deadline(invoice), chain(inBlock('a', WHOLE, 2, { firstSeenMs })))
  expect(result).toMatchObject({
    events: ['expired', 'manual_review'],
    status: 'manual_review',
    postings: ['none→suspense'],
  })
  expect(reviewReasonOf(result.invoice)).toBe('late')
  const nowMs = firstSeenMs + MINUTE_MS
  expect(apply(result.invoice, { kind: 'resolve', resolution: 'accept', nowMs })).toMatchObject({
    events: ['paid'],
    status: 'paid',
    postings: ['suspense→available'],
  })
  expect(apply(result.invoice, { kind: 'resolve', resolution: 'dismiss', nowMs })).toMatchObject({
    events: [],
    status: 'expired',
    postings: ['suspense→available'],
  })
})

test('money on a cancelled invoice is followed to its confirmation and then reviewed', () => {
  const invoice = makeInvoice()
  const nowMs = invoice.createdAtMs
  const result = apply(
    invoice,
    { kind: 'cancel', nowMs },
    chain(inMempool('a', WHOLE)),
    chain(inBlock('a', WHOLE, 1)),
    chain(inBlock('a', WHOLE, 2)),
  )
  expect(result.events).toEqual(['payment_detected', 'confirming', 'manual_review'])
  expect(reviewReasonOf(result.invoice)).toBe('cancelled')
})

test('only an invoice that awaits payment or has expired can be cancelled', () => {
  const seen = apply(makeInvoice(), chain(inMempool('a', WHOLE))).invoice
  expect(advanceInvoice(seen, { kind: 'cancel', nowMs: 0 })).toEqual({
    kind: 'refused',
    code: 'invoice_not_cancellable',
  })
})

test('another coin is reviewed and leaves the invoice payable', () => {
  const result = apply(
    makeInvoice(),
    chain(inBlock('b', WHOLE, 1, { asset: 'BTC', network: 'bitcoin-test' })),
    chain(inBlock('a', WHOLE, 2)),
  )
  expect(result.events).toEqual(['manual_review', 'payment_detected', 'confirming', 'paid'])
  expect(result.invoice.payments[0]?.reviewReason).toBe('wrong_asset')
})

test('a payment after settlement is reviewed and changes no status', () => {
  const result = apply(makeInvoice(), chain(inBlock('a', WHOLE, 2)), chain(inMempool('b', WHOLE)))
  expect(result.events.slice(-1)).toEqual(['manual_review'])
  expect(result.status).toBe('paid')
  expect(result.invoice.payments[1]?.reviewReason).toBe('after_settlement')
})

test('what is still under way at settlement is reviewed as a further payment', () => {
  const result = apply(makeInvoice(), chain(inBlock('a', WHOLE, 2), inMempool('b', HALF)))
  expect(result.events).toEqual(['payment_detected', 'confirming', 'paid', 'manual_review'])
  expect(result.status).toBe('paid')
})

test('an invoice stays open when its transfer is reorganised out', () => {
  const result = apply(makeInvoice(), chain(inBlock('a', WHOLE, 1)), chain(gone('reorged', 'a', WHOLE)))
  expect(result).toMatchObject({ status: 'awaiting_payment', postings: ['none→pending', 'pending→none'] })
})

test('what a reading that is out of date says takes no payment out of a block that it did not know', () => {
  const paid = apply(makeInvoice(), chain(inBlock('a', WHOLE, 2)))
  const other = { hash: 'bb'.repeat(32) }
  const stale: TransferFact[] = [
    inMempool('a', WHOLE, { knownIn: null }),
    inMempool('a', WHOLE, { knownIn: other.hash }),
    { ...gone('reorged', 'a', WHOLE), knownIn: null },
    { ...gone('replaced', 'a', WHOLE), knownIn: other.hash },
    inBlock('a', HALF, 1, { ...other, knownIn: null }),
  ]
  for (const fact of stale) {
    expect(advanceInvoice(paid.invoice, chain(fact))).toEqual({
      kind: 'advanced',
      next: paid.invoice,
      effects: [],
    })
  }
})

test('settled value that leaves the chain is reviewed, and its return settles without a second paid event', () => {
  const result = apply(
    makeInvoice(),
    chain(inBlock('a', WHOLE, 2)),
    chain(inMempool('a', WHOLE)),
    chain(inMempool('a', WHOLE)),
    chain(inBlock('a', WHOLE, 2, { hash: 'bb'.repeat(32) })),
  )
  expect(result.events).toEqual(['payment_detected', 'confirming', 'paid', 'manual_review'])
  expect(result.status).toBe('paid')
  expect(result.postings).toEqual(['none→available', 'available→none', 'none→available'])
})

test('a final payment that only moved to another block, as deep, emits no event', () => {
  const result = apply(
    makeInvoice(),
    chain(inBlock('a', WHOLE, 2)),
    chain(inBlock('a', WHOLE, 2, { hash: 'bb'.repeat(32) })),
  )
  expect(result.events).toEqual(['payment_detected', 'confirming', 'paid'])
  expect(result.postings).toEqual(['none→available'])
})

test('a final payment that moved to a block less deep is not final any more, and neither is its value', () => {
  const elsewhere = { hash: 'bb'.repeat(32) }
  const paid = apply(makeInvoice(), chain(inBlock('a', WHOLE, 2))).invoice
  const moved = apply(paid, chain(inBlock('a', WHOLE, 1, elsewhere)))
  expect(moved.invoice.payments[0]).toMatchObject({ status: 'confirming', block: elsewhere })
  expect(moved.postings).toEqual(['available→pending'])
  const again = apply(moved.invoice, chain(inBlock('a', WHOLE, 2, elsewhere)))
  expect(again).toMatchObject({ status: 'paid', postings: ['pending→available'] })
})

test('a stale reading does not take back what is final in the same block', () => {
  const result = apply(makeInvoice(), chain(inBlock('a', WHOLE, 2)), chain(inBlock('a', WHOLE, 1)))
  expect(result.status).toBe('paid')
})

test('dust is recorded, emits no event, is posted nowhere and blocks nothing', () => {
  const result = apply(makeInvoice(), chain(inBlock('a', 293n, 2)))
  expect(result).toMatchObject({ events: [], postings: [], status: 'awaiting_payment' })
  expect(result.invoice.payments).toHaveLength(1)
})

const numbered = (prefix: string, count: number, amount: bigint, confirmations = 2) =>
  Array.from({ length: count }, (_, index) => inBlock(`${prefix}${index}`, amount, confirmations))

test('dust of one block is one sum with a count, and does not become money by coming often', () => {
  const result = apply(makeInvoice(), chain(...numbered('d', 3_000, 100n), inBlock('a', WHOLE, 2)))
  expect(result).toMatchObject({ status: 'paid', postings: ['none→available'] })
  const view = renderInvoice(result.invoice, { tipHeightOf: () => 101 })
  expect(view.dust).toEqual([{ asset: 'LTC', transfers_count: 3_000, amount: '0.003' }])
  expect([view.payments.length, view.payments_count]).toEqual([1, 1])
})

test('payments that came into a block together are announced once', () => {
  const result = apply(makeInvoice(), chain(...numbered('a', 40, 1_000n, 1)))
  expect(result.events).toEqual(['payment_detected', 'confirming'])
  expect(
    apply(result.invoice, chain(...numbered('a', 40, 1_000n, 1), inBlock('b', 1_000n, 1))).events,
  ).toEqual(['confirming'])
})

test('of more payments than are kept the largest stay, and the rest of a block is one sum under one review', () => {
  const flood = [...numbered('a', 3_000, 3_000n), inBlock('whole', WHOLE, 2)]
  const result = apply(makeInvoice(), chain(...flood))
  expect(result.status).toBe('overpaid')
  expect(result.events).toEqual(['payment_detected', 'manual_review', 'confirming', 'overpaid'])
  expect(result.invoice.payments).toHaveLength(51)
  expect(reviewReasonOf(result.invoice)).toBe('too_many_payments')
  const sum = result.invoice.payments.at(-1)
  expect(sum).toMatchObject({
    isBlockSum: true,
    transfers: 2_951,
    amount: 2_951n * 3_000n,
    bucket: 'suspense',
  })
  const again = { hash: 'bb'.repeat(32) }
  const more = apply(result.invoice, chain(inBlock('b', 3_000n, 2, again)))
  expect(more).toMatchObject({ events: [], postings: ['none→suspense'] })
  const accepted = apply(more.invoice, { kind: 'resolve', resolution: 'accept', nowMs: 1 })
  expect(accepted.postings).toEqual(['suspense→available', 'suspense→available'])
  expect(amountsOf(accepted.invoice).confirmed).toBe(WHOLE + 3_001n * 3_000n)
})

const elsewhereIn = (letter: string) => ({ hash: letter.repeat(64) })

test('a flood before the payment does not keep a payment that covers the invoice from paying it', () => {
  const flooded = apply(makeInvoice(), chain(...numbered('a', 51, 3_000n)))
  expect(flooded.status).toBe('manual_review')
  const seen = apply(flooded.invoice, chain(inMempool('whole', WHOLE)))
  expect(seen.status).toBe('payment_detected')
  const paid = apply(seen.invoice, chain(inBlock('whole', WHOLE, 2, elsewhereIn('b'))))
  expect(paid).toMatchObject({ status: 'overpaid', postings: ['none→available'] })
  expect(paid.events).toEqual(['confirming', 'overpaid'])
  expect(reviewReasonOf(paid.invoice)).toBe('too_many_payments')
  const lost = apply(paid.invoice, chain(gone('reorged', 'whole', WHOLE)))
  expect(lost).toMatchObject({ status: 'manual_review', postings: ['available→none'] })
  const back = apply(lost.invoice, chain(inBlock('whole', WHOLE, 2, elsewhereIn('c'))))
  expect(back).toMatchObject({ status: 'overpaid', events: [] })
})

test('after a flood a payment of what is left pays the invoice, and less than that waits', () => {
  const flooded = apply(makeInvoice(), chain(...numbered('a', 51, 3_000n))).invoice
  const left = amountsOf(flooded).remaining
  const less = apply(flooded, chain(inBlock('less', left - 1n, 2, elsewhereIn('b'))))
  expect(less).toMatchObject({ status: 'manual_review', postings: ['none→suspense'] })
  const paid = apply(less.invoice, chain(inBlock('rest', left, 2, elsewhereIn('c'))))
  expect(paid).toMatchObject({ status: 'paid', events: ['confirming', 'paid'] })
})

test('what is due falls by what blocks hold, and not by what the mempool may take back', () => {
  const flooded = apply(makeInvoice(), chain(...numbered('a', 49, 3_000n))).invoice
  const rest = amountsOf(flooded).remaining
  const lure = apply(flooded, chain(inMempool('lure', rest - 300n))).invoice
  const small = Array.from({ length: 20 }, (_, index) => inBlock(`s${index}`, 300n, 2, elsewhereIn('b')))
  const crowded = apply(lure, chain(...small)).invoice
  const replaced = apply(crowded, chain(gone('replaced', 'lure', rest - 300n))).invoice
  const paid = apply(replaced, chain(inBlock('whole', WHOLE, 2, elsewhereIn('c'))))
  expect(paid).toMatchObject({ status: 'overpaid', postings: ['none→available'] })
})

test('after a flood two halves pay the invoice, also where two readings bring their blocks', () => {
  const flooded = apply(makeInvoice(), chain(...numbered('a', 49, 3_000n))).invoice
  const rest = amountsOf(flooded).remaining
  const half = rest / 2n
  const seen = apply(flooded, chain(inMempool('first', half))).invoice
  const paid = apply(
    seen,
    chain(inBlock('first', half, 2, elsewhereIn('b')), inBlock('second', rest - half, 2, elsewhereIn('b'))),
  )
  expect(paid.events).toContain('paid')
})

test('whole payments beyond the others are so many, and those in the mempool half of that', () => {
  const flooded = apply(makeInvoice(), chain(...numbered('a', 50, 3_000n))).invoice
  const wholes = (of: (txid: string) => TransferFact) =>
    chain(...Array.from({ length: 30 }, (_, index) => of(`w${index}`)))
  const seen = apply(
    flooded,
    wholes((txid) => inMempool(txid, WHOLE)),
  ).invoice
  expect(seen.payments).toHaveLength(PAYMENTS_MAX + WHOLE_PAYMENTS_MAX / 2)
  const mined = apply(
    seen,
    wholes((txid) => inBlock(txid, WHOLE, 2, elsewhereIn('b'))),
  ).invoice
  expect(mined.payments.filter(({ isBlockSum }) => !isBlockSum)).toHaveLength(
    PAYMENTS_MAX + WHOLE_PAYMENTS_MAX,
  )
  expect(mined.payments.at(-1)).toMatchObject({ isBlockSum: true, transfers: 10, amount: 10n * WHOLE })
})

test('a transfer that was summed when it was too small for the invoice stays in its sum', () => {
  const invoice = makeInvoice({ amount: 2n * WHOLE })
  const flooded = apply(invoice, chain(...numbered('a', 50, 3_000n), inBlock('big', 2_000n, 2))).invoice
  // What is due falls below what the sum has: the same block, read again, must not book it twice.
  const nearly = { ...flooded, amount: amountsOf(flooded).detected + 1_000n }
  expect(apply(nearly, chain(inBlock('big', 2_000n, 2)))).toMatchObject({ events: [], postings: [] })
  expect(apply(nearly, chain(inMempool('big', 2_000n))).postings).toEqual(['suspense→none'])
})

test('what takes a transfer out of a block that is summed leaves the sum without it', () => {
  const flooded = apply(makeInvoice(), chain(...numbered('a', 53, 3_000n))).invoice
  const less = apply(flooded, chain(inMempool('a51', 3_000n)))
  expect(less.invoice.payments.at(-1)).toMatchObject({ transfers: 2, amount: 6_000n })
  expect(less.postings).toEqual(['suspense→none', 'none→suspense'])
  const rest = ['a50', 'a52'].map((txid) => gone('reorged', txid, 3_000n))
  expect(apply(less.invoice, chain(...rest)).postings).toEqual(['suspense→none'])
})

test('ten times the transfers are ten times the work', () => {
  const workFor = (count: number): number => {
    let reads = 0
    const facts = numbered('a', count, 3_000n).map(
      (fact) =>
        new Proxy(fact, {
          get(target, name, receiver) {
            reads += 1
            return Reflect.get(target, name, receiver)
          },
        }),
    )
    apply(makeInvoice(), chain(...facts))
    return reads
  }
  expect(workFor(10_000) / workFor(1_000)).toBeLessThan(11)
})

test('a coinbase is not final before consensus lets it move', () => {
  const coinbase = (confirmations: number) =>
    chain(inBlock('a', WHOLE, confirmations, { minimumConfirmations: 100 }))
  expect(apply(makeInvoice(), coinbase(99)).status).toBe('confirming')
  expect(apply(makeInvoice(), coinbase(100)).status).toBe('paid')
})

test('accepting a short payment pays the invoice, and is reviewed again if that payment leaves the chain', () => {
  const partial = apply(makeInvoice(), chain(inBlock('a', HALF, 2))).invoice
  const accepted = apply(partial, { kind: 'resolve', resolution: 'accept', nowMs: 1 })
  expect(accepted).toMatchObject({ events: ['paid'], status: 'paid' })
  expect(statusReasonOf(accepted.invoice)).toBe('accepted')
  const lost = apply(accepted.invoice, chain(gone('reorged', 'a', HALF)))
  expect(lost).toMatchObject({ events: ['manual_review'], status: 'manual_review' })
  expect(reviewReasonOf(lost.invoice)).toBe('reorged')
})

test('nothing can be resolved where nothing waits for the merchant', () => {
  for (const resolution of ['accept', 'dismiss'] as const) {
    expect(advanceInvoice(makeInvoice(), { kind: 'resolve', resolution, nowMs: 1 })).toEqual({
      kind: 'refused',
      code: 'invoice_not_resolvable',
    })
  }
})

test('a transfer read again with another amount in another block counts with that one, also in the ledger', () => {
  const other = { hash: 'ee'.repeat(32) }
  const ways: InvoiceInput[][] = [
    [chain(inBlock('a', WHOLE, 1)), chain(inBlock('a', HALF, 2, other))],
    [chain(inBlock('a', WHOLE, 2)), chain(inBlock('a', HALF, 2, other))],
    [chain(inBlock('a', WHOLE, 1)), chain(gone('reorged', 'a', WHOLE)), chain(inBlock('a', HALF, 2, other))],
    [chain(inBlock('a', WHOLE, 1)), chain(inMempool('a', WHOLE)), chain(inBlock('a', HALF, 2, other))],
  ]
  for (const inputs of ways) {
    let invoice = makeInvoice()
    const buckets = { none: 0n, pending: 0n, suspense: 0n, available: 0n }
    for (const input of inputs) {
      const advance = advanceInvoice(invoice, readNow(invoice, input))
      if (advance.kind === 'refused') throw new Error(advance.code)
      invoice = advance.next
      for (const effect of advance.effects) {
        if (effect.kind !== 'posting') continue
        buckets[effect.from] -= effect.payment.amount
        buckets[effect.to] += effect.payment.amount
      }
    }
    expect(buckets).toEqual({ none: -HALF, pending: 0n, suspense: 0n, available: HALF })
    expect(invoice.payments).toMatchObject([{ amount: HALF, bucket: 'available', status: 'confirmed' }])
    expect(deriveStatus(invoice)).not.toBe('paid')
  }
})

test('what the merchant decided of a payment does not hold for another amount in another block', () => {
  const other = { hash: 'ee'.repeat(32) }
  for (const lost of [[], [chain(gone('reorged', 'a', HALF))]]) {
    const short = apply(makeInvoice(), chain(inBlock('a', HALF, 2)))
    const accepted = apply(short.invoice, { kind: 'resolve', resolution: 'accept', nowMs: 1 })
    const less = apply(accepted.invoice, ...lost, chain(inBlock('a', HALF / 2n, 2, other)))
    expect(less).toMatchObject({ status: 'manual_review', events: ['manual_review'] })
    expect(reviewReasonOf(less.invoice)).toBe('reorged')
    const again = apply(less.invoice, { kind: 'resolve', resolution: 'accept', nowMs: 2 })
    expect(again).toMatchObject({ status: 'paid', events: [] })
  }
  const late = { firstSeenMs: makeInvoice().expiresAtMs + 11 * MINUTE_MS }
  const review = apply(makeInvoice(), chain(inBlock('b', HALF, 2, late)))
  const dismissed = apply(review.invoice, { kind: 'resolve', resolution: 'dismiss', nowMs: 1 })
  expect(dismissed.postings).toEqual(['suspense→available'])
  const more = apply(dismissed.invoice, chain(inBlock('b', WHOLE, 2, { ...late, ...other })))
  expect(more).toMatchObject({ status: 'manual_review', events: ['manual_review'] })
  expect(more.invoice.payments).toMatchObject([{ bucket: 'suspense', amount: WHOLE }])
})

test('a transfer keeps its amount in its own block, whatever is reported for it there later', () => {
  const result = apply(makeInvoice(), chain(inBlock('a', HALF, 1)), chain(inBlock('a', WHOLE, 2)))
  expect(result.invoice.payments[0]?.amount).toBe(HALF)
})

test('what is named by its block has the amount of the latest reading, until it is final', () => {
  const hash = 'ab'.repeat(32)
  const byBlock = (amount: bigint, confirmations: number) => inBlock(hash, amount, confirmations, { hash })
  const more = apply(makeInvoice(), chain(byBlock(HALF, 1)), chain(byBlock(WHOLE, 1)))
  expect(more.invoice.payments).toMatchObject([{ amount: WHOLE, bucket: 'pending' }])
  const final = apply(more.invoice, chain(byBlock(WHOLE, 2)), chain(byBlock(HALF, 2)))
  expect(final.invoice.payments).toMatchObject([{ amount: WHOLE, bucket: 'available' }])
})

test('a transfer that brings too little to mean anything in another block is dust there', () => {
  const other = { hash: 'ee'.repeat(32) }
  const result = apply(makeInvoice(), chain(inBlock('a', WHOLE, 1)), chain(inBlock('a', 1n, 2, other)))
  expect(result.postings).toEqual(['none→pending', 'pending→none'])
  expect(result).toMatchObject({ status: 'awaiting_payment' })
  expect(result.invoice.payments[0]).toMatchObject({ dust: true, amount: 1n })
})
