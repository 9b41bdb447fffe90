import { describe, expect, test } from 'vitest'
import { chargeOf, type PaymentLink, SLUG_PATTERN, windowMinutesOf } from './payment-link.ts'

const link = (changes: Partial<PaymentLink> = {}): PaymentLink => ({
  merchantId: 'mer_1',
  id: 'plink_1',
  livemode: false,
  slug: 'pl_0123456789',
  name: 'Coffee',
  usdCents: 2_500n,
  asset: null,
  allowDynamicAmount: true,
  durationMinutes: null,
  active: true,
  createdAtMs: 0,
  ...changes,
})

describe('what a plain link charges', () => {
  test('is its own amount where the URL names none, and there must be one', () => {
    expect(chargeOf(link(), undefined)).toEqual({
      kind: 'charge',
      usdCents: 2_500n,
      amountSource: 'merchant',
    })
    expect(chargeOf(link({ usdCents: null }), undefined)).toEqual({ kind: 'bad_amount', reason: 'missing' })
  })

  test('is never its own amount where the URL names another that it does not take', () => {
    const fixed = link({ allowDynamicAmount: false })
    for (const requested of ['25.00', '25', '', 'x']) {
      expect(chargeOf(fixed, requested)).toEqual({ kind: 'bad_amount', reason: 'not_allowed' })
      expect(chargeOf(link(), `${requested}x`)).toEqual({ kind: 'bad_amount', reason: 'invalid' })
    }
  })

  test.each([
    ['0.49', 'too_small'],
    ['0', 'too_small'],
    ['100000.01', 'too_large'],
    ['999999', 'too_large'],
    ['1000000', 'invalid'],
    ['01', 'invalid'],
    ['1.', 'invalid'],
    ['+1', 'invalid'],
    ['1\n', 'invalid'],
  ])('refuses %j as %s', (requested, reason) => {
    expect(chargeOf(link(), requested)).toEqual({ kind: 'bad_amount', reason })
  })

  test('is said to be the buyer’s at both limits, to the cent', () => {
    expect(chargeOf(link(), '0.5')).toEqual({ kind: 'charge', usdCents: 50n, amountSource: 'buyer' })
    expect(chargeOf(link(), '100000.00')).toMatchObject({ usdCents: 10_000_000n, amountSource: 'buyer' })
  })
})

test('the payment window is the session’s, else the link’s, else the merchant’s', () => {
  const rules = { windowMinutes: 60 as const }
  expect(windowMinutesOf(link(), rules)).toBe(60)
  expect(windowMinutesOf(link({ durationMinutes: 15 }), rules)).toBe(15)
  expect(windowMinutesOf(link({ durationMinutes: 15 }), rules, 5)).toBe(5)
})

test('a slug is pl_ and ten characters, and nothing around them', () => {
  expect(SLUG_PATTERN.test('pl_0aZ9bY8cX7')).toBe(true)
  for (const wrong of [
    'pl_0aZ9bY8cX',
    'pl_0aZ9bY8cX77',
    'PL_0aZ9bY8cX7',
    'pl_0aZ9bY8cX7\n',
    'pl_0aZ9bY8cX-',
    '',
  ])
    expect([wrong, SLUG_PATTERN.test(wrong)]).toEqual([wrong, false])
})
