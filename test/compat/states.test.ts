import { expect, test } from 'vitest'
import { greenfieldStatusOf } from '../../src/compat/btcpay/greenfield-invoice.ts'
import { GREENFIELD_EVENTS } from '../../src/compat/btcpay/greenfield-webhook.ts'
import { CHARGE_EVENTS, chargeOf } from '../../src/compat/coinbase-commerce/charge.ts'
import type { Invoice } from '../../src/compat/invoice-facts.ts'
import { coinsOf, totalIn } from '../../src/compat/invoice-facts.ts'
import { INVOICE_STATUSES } from '../../src/core/invoice/types.ts'
import { invoiceView } from '../../src/wire/invoice.ts'
import { eventExamples } from '../support/event-examples.ts'
import { inBlock, inMempool, makeInvoice } from '../support/invoice.ts'
import { InvoiceStory } from '../support/invoice-story.ts'

/** Our states by the words of others, each of them, as docs/coming-from-elsewhere.md has it. */

const EXAMPLE = eventExamples().get('invoice.paid') as { data: object }
const invoiceWith = (changes: Partial<Invoice>): Invoice => ({
  ...invoiceView.parse({
    ...EXAMPLE.data,
    checkout_url: 'https://pay.example.com/i/x',
    payment_link_name: null,
  }),
  review_reason: null,
  ...changes,
})
const words = (changes: Partial<Invoice>, now = '2026-11-21T12:30:00.000Z') => {
  const invoice = invoiceWith(changes)
  const { status, additionalStatus } = greenfieldStatusOf(invoice, new Date(now))
  const last = chargeOf(invoice).timeline.at(-1)
  return [
    `${status} ${additionalStatus}`,
    last?.context === undefined ? last?.status : `${last.status} ${last.context}`,
  ]
}

test('every state has its words in both', () => {
  const review = (review_reason: Invoice['review_reason']) =>
    words({ status: 'manual_review', review_reason })
  const [short, covered] = [{ amount_remaining: '0.1' }, { amount_remaining: '0' }]
  expect(words({ status: 'awaiting_payment', payments: [] })).toEqual(['New None', 'NEW'])
  expect(words({ status: 'payment_detected', ...short })).toEqual(['New PaidPartial', 'NEW'])
  expect(words({ status: 'payment_detected', ...covered })).toEqual(['Processing None', 'PENDING'])
  expect(words({ status: 'confirming', ...covered })).toEqual(['Processing None', 'PENDING'])
  expect(words({ status: 'partially_paid', ...short })).toEqual(['New PaidPartial', 'UNRESOLVED UNDERPAID'])
  expect(words({ status: 'partially_paid', ...short }, '2026-11-21T14:00:00.000Z')[0]).toBe(
    'Expired PaidPartial',
  )
  expect(words({ status: 'paid' })).toEqual(['Settled None', 'COMPLETED'])
  expect(words({ status: 'overpaid' })).toEqual(['Settled PaidOver', 'UNRESOLVED OVERPAID'])
  expect(words({ status: 'expired', payments: [] })).toEqual(['Expired None', 'EXPIRED'])
  expect(words({ status: 'cancelled', payments: [] })).toEqual(['Invalid Marked', 'CANCELED'])
  expect(review('late')).toEqual(['Expired PaidLate', 'UNRESOLVED DELAYED'])
  expect(review('reorged')).toEqual(['Processing None', 'UNRESOLVED OTHER'])
  expect(review('cancelled')).toEqual(['Invalid PaidLate', 'UNRESOLVED OTHER'])
  for (const status of INVOICE_STATUSES) expect(words({ status })).not.toContain(undefined)
})

test('only what is paid, or paid too much, is ever called settled or completed', () => {
  for (const status of INVOICE_STATUSES) {
    for (const review_reason of [
      null,
      'wrong_asset',
      'late',
      'cancelled',
      'after_settlement',
      'reorged',
    ] as const) {
      const [btcpay, commerce] = words({ status, review_reason })
      expect(btcpay?.startsWith('Settled')).toBe(status === 'paid' || status === 'overpaid')
      expect(commerce === 'COMPLETED').toBe(status === 'paid')
    }
  }
})

test('amounts keep their value to the last digit, and anything unclear is none', () => {
  const totals = ['10', '10.5', '10.50', '10.5000', '007', 12.5, 7, '10.005', '0.0049', 9.999]
  const rounded = '10.00 10.50 10.50 10.50 7.00 12.50 7.00 10.01 0.00 10.00'.split(' ')
  expect(totals.map((amount) => totalIn('USD', amount))).toEqual(
    rounded.map((usd_amount) => ({ usd_amount })),
  )
  expect(totals.map((amount) => totalIn('EUR', amount))).toEqual(
    rounded.map((amount) => ({ price: { amount, currency: 'EUR' } })),
  )
  expect(totals.map((amount) => totalIn('JPY', amount))).toEqual(
    '10 11 11 11 7 13 7 10 0 10'.split(' ').map((amount) => ({ price: { amount, currency: 'JPY' } })),
  )
  for (const code of ['', 'eur', 'XXX', 'KWD', 'LTC', 'toString']) expect(totalIn(code, '10')).toBeUndefined()
  expect(['0.05000000', '1', '1.0', '100', 0.5, '21.00000001'].map(coinsOf)).toEqual([
    '0.05',
    '1',
    '1',
    '100',
    '0.5',
    '21.00000001',
  ])
  for (const wrong of ['', '-1', '1e3', '1,5', ' 1', '0x1', null, undefined, {}, Number.NaN, 1e-7]) {
    expect(totalIn('USD', wrong)).toBeNull()
    expect(totalIn('ISK', wrong)).toBeNull()
  }
  for (const wrong of ['', '-1', '1e3', '1,5', ' 1', null, undefined, {}, 1e-7, 1e21])
    expect(coinsOf(wrong)).toBeNull()
})

/** What is told of a story's events, one after the other, in both. */
function told(story: InvoiceStory): string[] {
  return story.events.map(({ id: eventId, body }) => {
    const event = { endpointId: 'we_1', eventId, body: Buffer.from(body) }
    const [btcpay, commerce] = [GREENFIELD_EVENTS, CHARGE_EVENTS].map((format) =>
      JSON.parse(Buffer.from(format.bodyOf(event)).toString()),
    )
    const { type, afterExpiration, partiallyPaid, overPaid, manuallyMarked } = btcpay
    const flags = Object.entries({ afterExpiration, partiallyPaid, overPaid, manuallyMarked })
    const { context, status } = commerce.event.data.timeline.at(-1)
    const own = [type, ...flags.flatMap(([name, isSet]) => (isSet === true ? [name] : []))].join(' ')
    return `${own} | ${commerce.event.type} ${context ?? status}`
  })
}

const MINUTE_MS = 60_000
const open = () => new InvoiceStory(makeInvoice())
const paying = (share: bigint) => {
  const story = open()
  const amount = (story.invoice.amount * share) / 100n
  const at = (minutes: number) => story.invoice.createdAtMs + minutes * MINUTE_MS
  return story
    .transfers(at(1), [inMempool('a'.repeat(64), amount)])
    .transfers(at(2), [inBlock('a'.repeat(64), amount, 1)])
    .transfers(at(3), [inBlock('a'.repeat(64), amount, 2)])
}

test('every event has a name in both, and an underpayment is never sent as pending or settled', () => {
  const created = 'InvoiceCreated | charge:created NEW'
  const covered = 'InvoiceProcessing | charge:pending PENDING'
  const short = 'InvoiceReceivedPayment | charge:created NEW'
  const settled = 'InvoiceSettled | charge:confirmed COMPLETED'
  expect(told(paying(100n))).toEqual([created, covered, covered, settled])
  expect(told(paying(160n))).toEqual([
    ...[created, covered, covered],
    'InvoiceSettled overPaid | charge:failed OVERPAID',
  ])
  const part = paying(40n)
  const partly = [created, short, short, 'InvoicePaymentSettled | charge:failed UNDERPAID']
  expect(told(part)).toEqual(partly)
  expect(told(part.accept(part.invoice.expiresAtMs))).toEqual([
    ...partly,
    'InvoiceSettled manuallyMarked | charge:confirmed COMPLETED',
  ])
  const expired = open().expire(makeInvoice().expiresAtMs + 1)
  expect(told(expired)).toEqual([created, 'InvoiceExpired | charge:failed EXPIRED'])
  const lateMs = makeInvoice().expiresAtMs + 60 * MINUTE_MS
  const late = inMempool('b'.repeat(64), 1_000_000n, { firstSeenMs: lateMs })
  expect(told(expired.transfers(lateMs, [late])).at(-1)).toBe(
    'InvoiceReceivedPayment afterExpiration | charge:delayed DELAYED',
  )
})

test('what comes on top of a settled invoice after its deadline is no payment after expiration', () => {
  const lateMs = makeInvoice().expiresAtMs + 60 * MINUTE_MS
  const surplus = inMempool('b'.repeat(64), 1_000_000n, { firstSeenMs: lateMs })
  // A shop that is told of an expired invoice takes a paid order back.
  expect(told(paying(100n).transfers(lateMs, [surplus])).at(-1)).toBe(
    'InvoiceReceivedPayment | charge:delayed COMPLETED',
  )
  const stray = [inBlock('b'.repeat(64), 1_000_000n, 2)]
  const { createdAtMs } = makeInvoice()
  const cancelled = new InvoiceStory(makeInvoice({ cancelledAtMs: createdAtMs })).transfers(
    createdAtMs,
    stray,
  )
  expect(told(cancelled).at(-1)).toBe('InvoiceReceivedPayment afterExpiration | charge:delayed OTHER')
})
