import { describe, expect, test } from 'vitest'
import {
  EXPIRES_AT_MS,
  final,
  INVOICES_BY_PAGE,
  inBlock,
  litecoinInvoice,
  litecoinPayment,
  NOW_MS,
  type PageName,
} from '../../../test/support/checkout-invoice.ts'
import { deriveStatus } from '../invoice/status.ts'
import { INVOICE_STATUSES, type Payment } from '../invoice/types.ts'
import { CHECKOUT_STATES, type CheckoutState, checkoutView } from './checkout-state.ts'

const tip = (height: number | null) => ({ tipHeightOf: () => height })
const LATER_MS = EXPIRES_AT_MS + 1

describe('the state of a checkout page', () => {
  test.each<[PageName, CheckoutState]>([
    ['awaiting', 'awaiting'],
    ['detected', 'detected'],
    ['confirming', 'confirming'],
    ['paid', 'paid'],
    ['underpaid', 'underpaid'],
    ['underpaid_pending', 'underpaid'],
    ['overpaid', 'overpaid'],
    ['expired', 'expired'],
    ['cancelled', 'cancelled'],
    ['review_late', 'review'],
    ['review_cancelled', 'review'],
    ['review_reorged', 'review'],
    ['awaiting_wrong_asset', 'awaiting'],
    ['paid_with_surplus', 'paid'],
    ['accepted', 'paid'],
  ])('of an invoice that is %s is %s', (page, state) => {
    expect(checkoutView(INVOICES_BY_PAGE[page], NOW_MS, tip(100)).state).toBe(state)
  })

  test('exists for every status of an invoice', () => {
    const statuses = new Set(Object.values(INVOICES_BY_PAGE).map(deriveStatus))
    expect([...statuses].sort()).toEqual([...INVOICE_STATUSES].sort())
    const states = new Set(
      [NOW_MS, LATER_MS].flatMap((now) =>
        Object.values(INVOICES_BY_PAGE).map((invoice) => checkoutView(invoice, now, tip(100)).state),
      ),
    )
    expect([...states].sort()).toEqual([...CHECKOUT_STATES].sort())
  })

  test('is checking between the deadline and the reading that proves that nothing came', () => {
    const at = (nowMs: number) => checkoutView(INVOICES_BY_PAGE.awaiting, nowMs, tip(100))
    expect(at(EXPIRES_AT_MS)).toMatchObject({ state: 'awaiting', payable: true })
    expect(at(LATER_MS)).toMatchObject({ state: 'checking', payable: false })
  })
})

describe('what the page asks for', () => {
  test('is the remainder, to the same address and by the same deadline, of a payment that falls short', () => {
    for (const page of ['underpaid', 'underpaid_pending'] as const) {
      expect(checkoutView(INVOICES_BY_PAGE[page], NOW_MS, tip(100))).toMatchObject({
        received: 16_492_000n,
        remaining: 24_738_000n,
        payable: true,
        address: INVOICES_BY_PAGE.awaiting.address,
        deadlineMs: EXPIRES_AT_MS,
      })
    }
  })

  test('is nothing once the time to send the rest is over', () => {
    expect(checkoutView(INVOICES_BY_PAGE.underpaid, LATER_MS, tip(100))).toMatchObject({
      state: 'underpaid',
      payable: false,
    })
    expect(checkoutView(INVOICES_BY_PAGE.underpaid_pending, LATER_MS, tip(100))).toMatchObject({
      state: 'detected',
      payable: false,
    })
  })

  test('is nothing where what is missing lies within the tolerance', () => {
    const payments = [litecoinPayment({ amount: 41_000_000n })]
    const within = litecoinInvoice({ payments, toleranceUnder: 230_000n })
    expect(checkoutView(within, NOW_MS, tip(100)).state).toBe('detected')
    const beyond = litecoinInvoice({ payments, toleranceUnder: 229_999n })
    expect(checkoutView(beyond, NOW_MS, tip(100)).state).toBe('underpaid')
  })

  test('is nothing in any state but awaiting and underpaid', () => {
    for (const invoice of Object.values(INVOICES_BY_PAGE)) {
      const view = checkoutView(invoice, NOW_MS, tip(100))
      expect(view.payable).toBe(view.state === 'awaiting' || view.state === 'underpaid')
    }
  })

  test('never includes a promise about the excess beyond its amount', () => {
    expect(checkoutView(INVOICES_BY_PAGE.overpaid, NOW_MS, tip(100)).excess).toBe(24_738_000n)
    expect(checkoutView(INVOICES_BY_PAGE.accepted, NOW_MS, tip(100)).excess).toBe(0n)
  })
})

describe('progress', () => {
  test.each([
    [null, 1],
    [100, 1],
    [102, 3],
    [105, 6],
    [900, 6],
    [50, 1],
  ])('at height %s is %i of 6 for a payment in block 100', (height, reached) => {
    expect(checkoutView(INVOICES_BY_PAGE.confirming, NOW_MS, tip(height)).progress).toEqual({
      reached,
      required: 6,
    })
  })

  test('is that of the slowest payment under way', () => {
    const payments = [
      final({ amount: 1_000_000n }),
      inBlock({ txid: 'd'.repeat(64) }),
      litecoinPayment({ txid: 'e'.repeat(64) }),
    ]
    expect(checkoutView(litecoinInvoice({ payments }), NOW_MS, tip(103)).progress).toEqual({
      reached: 0,
      required: 6,
    })
  })

  test('is absent before the first payment and after the last', () => {
    expect(checkoutView(INVOICES_BY_PAGE.awaiting, NOW_MS, tip(100)).progress).toBeNull()
    expect(checkoutView(INVOICES_BY_PAGE.paid, NOW_MS, tip(100)).progress).toBeNull()
  })
})

describe('the payments on the page', () => {
  test('leave out dust and what left the chain', () => {
    const payments = [
      litecoinPayment({ dust: true, amount: 1n }),
      litecoinPayment({ status: 'replaced', txid: 'd'.repeat(64) }),
      litecoinPayment({ status: 'reorged', txid: 'e'.repeat(64) }),
    ]
    const view = checkoutView(litecoinInvoice({ payments }), NOW_MS, tip(100))
    expect(view.payments).toEqual([])
    expect(view.state).toBe('awaiting')
  })

  test('say that one was replaced until another comes', () => {
    const replaced = litecoinPayment({ status: 'replaced', txid: 'd'.repeat(64) })
    const isSaid = (...payments: Payment[]) =>
      checkoutView(litecoinInvoice({ payments }), NOW_MS, tip(100)).wasReplaced
    expect(isSaid(replaced)).toBe(true)
    expect(isSaid(replaced, litecoinPayment({ txid: 'e'.repeat(64) }))).toBe(false)
    expect(isSaid({ ...replaced, dust: true })).toBe(false)
    expect(isSaid()).toBe(false)
  })

  test('name the one that waits for the merchant', () => {
    const surplus = checkoutView(INVOICES_BY_PAGE.paid_with_surplus, NOW_MS, tip(100))
    expect(surplus.payments.map((payment) => payment.reviewReason)).toEqual([null, 'after_settlement'])
    expect(checkoutView(INVOICES_BY_PAGE.review_reorged, NOW_MS, tip(100)).reviewReason).toBe('reorged')
    expect(checkoutView(INVOICES_BY_PAGE.review_cancelled, NOW_MS, tip(100)).reviewReason).toBe('cancelled')
    expect(checkoutView(INVOICES_BY_PAGE.review_late, NOW_MS, tip(100)).reviewReason).toBe('late')
  })
})

describe('the version', () => {
  test('stays while only time passes', () => {
    const at = (nowMs: number) => checkoutView(INVOICES_BY_PAGE.awaiting, nowMs, tip(100)).version
    expect(at(NOW_MS + 60_000)).toBe(at(NOW_MS))
    expect(at(LATER_MS)).not.toBe(at(NOW_MS))
  })

  test('differs between every two pages, and with each confirmation', () => {
    const versions = Object.values(INVOICES_BY_PAGE).map(
      (invoice) => checkoutView(invoice, NOW_MS, tip(100)).version,
    )
    expect(new Set(versions).size).toBe(versions.length)
    expect(checkoutView(INVOICES_BY_PAGE.confirming, NOW_MS, tip(101)).version).not.toBe(
      checkoutView(INVOICES_BY_PAGE.confirming, NOW_MS, tip(100)).version,
    )
  })
})
