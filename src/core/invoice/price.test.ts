import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatPrice, parseFiat, parsePrice, parseUsd, usdCentsFor } from '../money.ts'
import { readPaymentRules } from '../payment-rules.ts'
import { CURRENCIES, type Currency, currencyDecimals, ROUND_RATES } from '../rates/currencies.ts'
import { planInvoice } from './plan.ts'
import { priceInDollars } from './price.ts'

const quoteAt = (rate: bigint) => () => ({
  rate,
  evidence: { usdPerUnit: formatPrice(rate), quotedAt: '2026-11-27T12:00:00.000Z', sources: [] },
})
const at = (usdPerUnit: string) => quoteAt(parsePrice(usdPerUnit) ?? 0n)

function dollars(amount: string, currency: Currency, usdPerUnit: string): string {
  const priced = priceInDollars({ amount, currency }, at(usdPerUnit))
  return priced.kind === 'priced' ? `${priced.price.amount} is ${priced.usdAmount}` : priced.kind
}

test('a price is worth its dollars at the rate, rounded up to the cent, once', () => {
  expect(dollars('49.99', 'EUR', '1.1')).toBe('49.99 is 54.99')
  expect(dollars('49.9', 'EUR', '1.1')).toBe('49.90 is 54.89')
  expect(dollars('50', 'EUR', '1.1')).toBe('50.00 is 55.00')
  expect(dollars('50', 'EUR', '1.100000000001')).toBe('50.00 is 55.01')
  expect(dollars('5000', 'JPY', '0.0067')).toBe('5000 is 33.50')
  expect(dollars('1600000000', 'IDR', '0.000061')).toBe('1600000000.00 is 97600.00')
})

test('an amount with more decimals than its currency, or that is none, is refused before any rate is asked', () => {
  const never = () => {
    throw new Error('asked')
  }
  for (const [amount, currency] of [
    ['49.999', 'EUR'],
    ['5000.0', 'JPY'],
    ['1.5', 'KRW'],
    ['1.00', 'ISK'],
    ['-1', 'EUR'],
    ['1e3', 'EUR'],
    ['01', 'EUR'],
    ['', 'EUR'],
    ['1.', 'EUR'],
    ['1,50', 'EUR'],
    ['٥', 'EUR'],
    ['NaN', 'EUR'],
    ['1000000000000', 'IDR'],
  ] as const)
    expect(priceInDollars({ amount, currency }, never), `${amount} ${currency}`).toEqual({
      kind: 'refused',
      code: 'parameter_invalid',
    })
})

test('what is worth less than 0.50 or more than 100000.00 dollars is refused', () => {
  const refusal = (amount: string, currency: Currency, usdPerUnit: string) =>
    priceInDollars({ amount, currency }, at(usdPerUnit))
  expect(refusal('0', 'EUR', '1.1')).toMatchObject({ code: 'amount_too_small' })
  expect(refusal('0.44', 'EUR', '1.1')).toMatchObject({ code: 'amount_too_small' })
  expect(refusal('0.45', 'EUR', '1.1')).toMatchObject({ usdAmount: '0.50' })
  expect(refusal('100000', 'GBP', '1')).toMatchObject({ usdAmount: '100000.00' })
  expect(refusal('100000', 'GBP', '1.000000000001')).toMatchObject({ code: 'amount_too_large' })
  expect(refusal('999999999999.99', 'EUR', '1.1')).toMatchObject({ code: 'amount_too_large' })
})

const currencies = fc.constantFrom(...CURRENCIES)
const units = fc.bigInt({ min: 0n, max: 10n ** 14n })
const rates = fc.bigInt({ min: 1n, max: 10n ** 16n })

test('in every currency the dollars are never less than the price, nor a whole cent more', () => {
  fc.assert(
    fc.property(currencies, units, rates, (currency, amount, rate) => {
      const decimals = currencyDecimals(currency)
      const cents = usdCentsFor(amount, rate, decimals)
      // Exact, by cross multiplication: cents ≥ amount × rate > cents − 1.
      const exact = amount * rate * 100n
      const cent = 10n ** BigInt(decimals + 12)
      expect(cents * cent).toBeGreaterThanOrEqual(exact)
      expect((cents - 1n) * cent).toBeLessThan(exact)
    }),
    { numRuns: 2000 },
  )
})

test('a larger price, or a higher rate, is never fewer dollars', () => {
  fc.assert(
    fc.property(currencies, units, units, rates, rates, (currency, a, b, one, other) => {
      const decimals = currencyDecimals(currency)
      const [low, high] = a < b ? [a, b] : [b, a]
      const [weak, strong] = one < other ? [one, other] : [other, one]
      expect(usdCentsFor(low, weak, decimals)).toBeLessThanOrEqual(usdCentsFor(high, strong, decimals))
    }),
  )
})

test('every currency is written back as it was asked for, with its own decimals', () => {
  fc.assert(
    fc.property(currencies, fc.bigInt({ min: 1n, max: 9_999n }), (currency, amount) => {
      const decimals = currencyDecimals(currency)
      const text =
        decimals === 0 ? String(amount) : `${amount / 100n}.${String(amount % 100n).padStart(2, '0')}`
      const priced = priceInDollars({ amount: text, currency }, quoteAt(10n ** 12n))
      if (priced.kind !== 'priced') expect(parseFiat(text, decimals)).toBeLessThan(50n)
      else
        expect([priced.price.amount, parseUsd(priced.usdAmount)]).toEqual([
          text,
          amount * 100n ** BigInt(decimals === 0 ? 1 : 0),
        ])
    }),
  )
})

const market = {
  livemode: true,
  rules: readPaymentRules({}),
  supportOf: () => ({ isConfigured: true, parameters: 'main', halted: false }),
  priceOf: () => ({ price: 10n ** 14n, evidence: { usdPerUnit: '100', quotedAt: '', sources: [] } }),
  currencyRateOf: (currency: Currency) => (currency === 'EUR' ? at('1.1')() : null),
  nowMs: 0,
}
const tea = { kind: 'price', price: { amount: '20', currency: 'EUR' }, asset: 'LTC' } as const

test('an invoice of a price has the terms of one of its dollars, and keeps the price with its rate', () => {
  const plan = planInvoice(tea, market)
  const inDollars = planInvoice({ kind: 'usd', usdAmount: '22', asset: 'LTC' }, market)
  expect(plan).toEqual({
    ...inDollars,
    price: { amount: '20.00', currency: 'EUR', rate: at('1.1')().evidence },
  })
  expect(inDollars).toMatchObject({ price: null, terms: { usdCents: 2200n, amount: 22_000_000n } })
})

test('a currency without a rate is named, and the caller’s own mistakes come first', () => {
  const yen = (amount: string) => ({ ...tea, price: { amount, currency: 'JPY' } }) as const
  expect(planInvoice(yen('5000'), market)).toEqual({
    kind: 'unavailable',
    code: 'rate_unavailable',
    asset: 'LTC',
    currency: 'JPY',
  })
  expect(planInvoice(yen('5000.5'), market)).toMatchObject({ kind: 'refused', param: 'price.amount' })
  expect(planInvoice({ ...tea, asset: 'USDC_ETHEREUM' }, market)).toMatchObject({
    code: 'asset_not_accepted',
  })
  // An amount that the coin's minimum refuses is named by what was asked for.
  const dear = { ...market, priceOf: () => ({ ...market.priceOf(), price: 10n ** 19n }) }
  expect(planInvoice({ ...tea, price: { amount: '0.5', currency: 'EUR' } }, dear)).toMatchObject({
    kind: 'refused',
    code: 'amount_too_small',
    param: 'price.amount',
  })
})

test('the table of test mode has a rate for every currency', () => {
  expect(ROUND_RATES.size).toBe(CURRENCIES.length)
  for (const [currency, rate] of ROUND_RATES)
    expect(priceInDollars({ amount: '50000', currency }, quoteAt(rate)).kind, currency).toBe('priced')
})
