import { describe, expect, test } from 'vitest'
import type { CurrencyQuote } from '../invoice/price.ts'
import type { Currency } from '../rates/currencies.ts'
import { chargeOf, type PaymentLink, SLUG_PATTERN, windowMinutesOf } from './payment-link.ts'

const link = (changes: Partial<PaymentLink> = {}): PaymentLink => ({
  merchantId: 'mer_1',
  id: 'plink_1',
  livemode: false,
  slug: 'pl_0123456789',
  name: 'Coffee',
  usdCents: 2_500n,
  price: null,
  asset: null,
  allowDynamicAmount: true,
  buyerAmount: null,
  till: null,
  durationMinutes: null,
  active: true,
  createdAtMs: 0,
  ...changes,
})

/** Of euros alone. */
const rateOf = (currency: Currency): CurrencyQuote | null =>
  currency === 'EUR'
    ? {
        rate: 1_080_000_000_000n,
        evidence: { usdPerUnit: '1.08', quotedAt: '2026-09-01T12:00:00.000Z', sources: [] },
      }
    : null

describe('what a plain link charges', () => {
  test('is its own amount where the URL names none, and there must be one', () => {
    expect(chargeOf(link(), {}, rateOf)).toEqual({
      kind: 'charge',
      charge: { kind: 'usd', usdAmount: '25.00' },
      usdCents: 2_500n,
      amountSource: 'merchant',
    })
    const open = link({ usdCents: null })
    expect(chargeOf(open, {}, rateOf)).toEqual({ kind: 'bad_amount', reason: 'missing' })
  })

  test('is never its own amount where the URL names another that it does not take', () => {
    const fixed = link({ allowDynamicAmount: false })
    for (const usd of ['25.00', '25', '', 'x']) {
      expect(chargeOf(fixed, { usd }, rateOf)).toEqual({ kind: 'bad_amount', reason: 'not_allowed' })
      expect(chargeOf(link(), { usd: `${usd}x` }, rateOf)).toEqual({ kind: 'bad_amount', reason: 'invalid' })
    }
    const euros = { amount: '25.00', currency: 'EUR' }
    expect(chargeOf(fixed, euros, rateOf)).toEqual({ kind: 'bad_amount', reason: 'not_allowed' })
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
  ])('refuses %j as %s', (usd, reason) => {
    expect(chargeOf(link(), { usd }, rateOf)).toEqual({ kind: 'bad_amount', reason })
  })

  test.each([
    [{ amount: '25' }, 'invalid'],
    [{ currency: 'EUR' }, 'invalid'],
    [{ amount: '25', currency: 'EUR', usd: '25' }, 'invalid'],
    [{ amount: '25', currency: 'eur' }, 'invalid'],
    [{ currency: 'USD' }, 'invalid'],
    [{ amount: '25', currency: 'USD', usd: '25' }, 'invalid'],
    [{ amount: '25', currency: 'XXX' }, 'invalid'],
    [{ amount: '25.001', currency: 'EUR' }, 'invalid'],
    [{ amount: '2500.5', currency: 'JPY' }, 'invalid'],
    [{ amount: '0.45', currency: 'EUR' }, 'too_small'],
    [{ amount: '92592.60', currency: 'EUR' }, 'too_large'],
  ])('refuses %j as %s', (requested, reason) => {
    expect(chargeOf(link(), requested, rateOf)).toEqual({ kind: 'bad_amount', reason })
  })

  test('is said to be the buyer’s at both limits, to the cent', () => {
    const buyers = { kind: 'charge', amountSource: 'buyer' }
    expect(chargeOf(link(), { usd: '0.5' }, rateOf)).toMatchObject({ ...buyers, usdCents: 50n })
    expect(chargeOf(link(), { amount: '0.5', currency: 'USD' }, rateOf)).toMatchObject({
      ...buyers,
      usdCents: 50n,
    })
    expect(chargeOf(link(), { usd: '100000.00' }, rateOf)).toMatchObject({ ...buyers, usdCents: 10_000_000n })
    const most = { amount: '92592.59', currency: 'EUR' }
    expect(chargeOf(link(), most, rateOf)).toMatchObject({ ...buyers, usdCents: 10_000_000n })
  })

  test('is its price in the shop’s currency, with dollars while there is a rate', () => {
    const price = { amount: '25.00', currency: 'EUR' } as const
    const charge = { kind: 'price', price }
    const euros = link({ usdCents: null, price })
    expect(chargeOf(euros, {}, rateOf)).toMatchObject({ charge, usdCents: 2_700n, amountSource: 'merchant' })
    expect(chargeOf(euros, {}, () => null)).toMatchObject({ charge, usdCents: null })
    const named = { amount: '25', currency: 'EUR' }
    expect(chargeOf(link(), named, rateOf)).toMatchObject({ charge, usdCents: 2_700n, amountSource: 'buyer' })
    expect(chargeOf(link(), named, () => null)).toMatchObject({ charge, usdCents: null })
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
