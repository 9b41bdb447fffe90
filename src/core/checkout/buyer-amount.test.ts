import { expect, test } from 'vitest'
import type { CurrencyQuote } from '../invoice/price.ts'
import type { Currency } from '../rates/currencies.ts'
import {
  type BuyerAmount,
  beyondLimit,
  buyerAmountFault,
  buyerAmountOf,
  type Charge,
} from './buyer-amount.ts'

const TIP: BuyerAmount = { currency: 'EUR', minimum: '2.00', maximum: '500.00', suggested: ['5.00', '10.00'] }
const LINK = { allowDynamicAmount: true, own: null }
const usd = (usdAmount: string): Charge => ({ kind: 'usd', usdAmount })
const eur = (amount: string): Charge => ({ kind: 'price', price: { amount, currency: 'EUR' } })

/** Of euros alone. */
const rateOf = (currency: Currency): CurrencyQuote | null =>
  currency === 'EUR'
    ? { rate: 1_100_000_000_000n, evidence: { usdPerUnit: '1.1', quotedAt: '', sources: [] } }
    : null

test.each<[string, Partial<BuyerAmount>, { allowDynamicAmount?: boolean; own?: Charge }, string | null]>([
  ['fits', {}, {}, null],
  ['fits the link’s own amount', {}, { own: eur('5.00') }, null],
  ['is of a link without dynamic amounts', {}, { allowDynamicAmount: false }, 'buyer_amount'],
  ['has another currency than the link’s own amount', {}, { own: usd('5.00') }, 'buyer_amount.currency'],
  ['leaves the link’s own amount out', {}, { own: eur('1.00') }, 'buyer_amount'],
  ['has a minimum of nothing', { minimum: '0.00' }, {}, 'buyer_amount.minimum'],
  ['has a minimum under the general one', { currency: 'USD', minimum: '0.49' }, {}, 'buyer_amount.minimum'],
  ['has a maximum below the minimum', { maximum: '1.99' }, {}, 'buyer_amount.maximum'],
  [
    'has a maximum over the general one',
    { currency: 'USD', maximum: '100000.01' },
    {},
    'buyer_amount.maximum',
  ],
  ['suggests less than the minimum', { suggested: ['1.99'] }, {}, 'buyer_amount.suggested'],
  ['suggests more than the maximum', { suggested: ['500.01'] }, {}, 'buyer_amount.suggested'],
  ['suggests the same twice', { suggested: ['5.00', '5.00'] }, {}, 'buyer_amount.suggested'],
])('what buyers may pay %s', (_name, changes, link, param) => {
  expect(buyerAmountFault({ ...TIP, ...changes }, { ...LINK, ...link })?.param ?? null).toBe(param)
})

test.each([
  ['2.00 euros', eur('2.00'), null],
  ['1.99 euros', eur('1.99'), 'too_small'],
  ['500.01 euros', eur('500.01'), 'too_large'],
  ['2.20 dollars, worth 2 euros', usd('2.20'), null],
  ['2.19 dollars', usd('2.19'), 'too_small'],
  ['550.01 dollars', usd('550.01'), 'too_large'],
  ['yen without a rate', { kind: 'price', price: { amount: '1', currency: 'JPY' } } as const, null],
])('%s against limits of 2 to 500 euros', (_name, charge, limit) => {
  expect(beyondLimit(charge, TIP, rateOf)).toBe(limit)
})

test.each([
  ['2.20 dollars, while euros have no rate', usd('2.20'), {}, null, 'too_small'],
  ['0.50 dollars, while euros have no rate', usd('0.50'), {}, null, 'too_small'],
  ['9 dollars to a maximum, while euros have no rate', usd('9.00'), { minimum: null }, null, 'too_large'],
  [
    '9 dollars without limits, while euros have no rate',
    usd('9.00'),
    { minimum: null, maximum: null },
    null,
    null,
  ],
  ['2 euros, while they have no rate', eur('2.00'), {}, null, null],
  [
    '0.50 dollars to more euros than an invoice may be',
    usd('0.50'),
    { minimum: '200000.00' },
    'EUR',
    'too_small',
  ],
  [
    '0.50 dollars to fewer euros than an invoice may be',
    usd('0.50'),
    { minimum: '0.01', maximum: '0.02' },
    'EUR',
    'too_large',
  ],
] as const)('%s: a limit stays one', (_name, charge, changes, rated, limit) => {
  const rates = rated === null ? () => null : rateOf
  expect(beyondLimit(charge, { ...TIP, ...changes }, rates)).toBe(limit)
})

test('what is stored reads as it was, and anything else as nothing', () => {
  expect(buyerAmountOf(JSON.parse(JSON.stringify(TIP)))).toEqual(TIP)
  for (const other of [
    null,
    'x',
    [],
    {},
    { ...TIP, currency: 'XXX' },
    { ...TIP, suggested: [5] },
    { ...TIP, minimum: '-1' },
  ])
    expect(buyerAmountOf(other)).toBeNull()
})
