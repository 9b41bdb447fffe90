import { expect, test } from 'vitest'
import { checkSubscriptions, SUBSCRIBABLE_EVENT_TYPES } from './subscriptions.ts'

test('an endpoint subscribes to any of the seventeen types or to all of them', () => {
  expect(SUBSCRIBABLE_EVENT_TYPES).toHaveLength(17)
  for (const type of SUBSCRIBABLE_EVENT_TYPES) expect(checkSubscriptions([type]).kind).toBe('accepted')
  expect(checkSubscriptions([...SUBSCRIBABLE_EVENT_TYPES]).kind).toBe('accepted')
  expect(checkSubscriptions(['*']).kind).toBe('accepted')
})

test('unknown, historical, verification, empty and repeated types are refused by name', () => {
  expect(checkSubscriptions([])).toEqual({ kind: 'empty' })
  expect(checkSubscriptions(['invoice.paid', 'invoice.payed'])).toEqual({
    kind: 'unknown',
    eventType: 'invoice.payed',
  })
  for (const type of ['', 'INVOICE.PAID', 'invoice.*', ' invoice.paid', '__proto__', 'invoice.paid\u0000']) {
    expect(checkSubscriptions([type])).toEqual({ kind: 'unknown', eventType: type })
  }
  for (const type of ['invoice.refunded', 'invoice.refund_pending', 'refund.created', 'payment.refunded']) {
    expect(checkSubscriptions([type])).toEqual({ kind: 'historical', eventType: type })
  }
  expect(checkSubscriptions(['webhook.endpoint_verification']).kind).toBe('verification')
  expect(checkSubscriptions(['*', 'invoice.paid']).kind).toBe('redundant')
  expect(checkSubscriptions(['invoice.paid', 'invoice.paid']).kind).toBe('redundant')
})
