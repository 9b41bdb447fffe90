import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { RateEvidence } from '../invoice/types.ts'
import { type HomeTerms, homeValueOf } from './home-value.ts'

const rate = (usdPerUnit: string, name = 'coinbase'): RateEvidence => ({
  usdPerUnit,
  quotedAt: '2026-11-21T12:00:00.000Z',
  sources: [{ name, usdPerUnit, at: '2026-11-21T12:00:00.000Z' }],
})
const LINE = { asset: 'LTC', amount: 50_000_000n, usdCents: 4_218n } as const
const terms = (changes: Partial<HomeTerms> = {}): HomeTerms => ({
  currency: 'EUR',
  rateOfDay: rate('1.1'),
  invoice: null,
  ...changes,
})
const INVOICE = {
  assets: ['LTC'],
  amount: 100_000_000n,
  coinRate: rate('84.37'),
  price: { amount: '76.55', currency: 'EUR', rate: rate('1.102') },
  dollars: null,
} as const

test('a line is its dollars at the rate of its day, to the nearest cent of the currency', () => {
  expect(homeValueOf(LINE, terms())).toEqual({ currency: 'EUR', amount: '38.35', rate: rate('1.1') })
  expect(homeValueOf(LINE, terms({ currency: 'JPY', rateOfDay: rate('0.0067') })).amount).toBe('6296')
})

test('where no rate of the day was kept there is no value, and no other rate in its place', () => {
  expect(homeValueOf(LINE, terms({ rateOfDay: null }))).toEqual({ currency: 'EUR', amount: null, rate: null })
  expect(homeValueOf({ ...LINE, usdCents: null }, terms())).toEqual({
    currency: 'EUR',
    amount: null,
    rate: rate('1.1'),
  })
})

test('what comes at the terms of its invoice is its share of the price, at the rate of the invoice', () => {
  const whole = { asset: 'LTC', amount: 100_000_000n, usdCents: 8_437n } as const
  expect(homeValueOf(whole, terms({ invoice: INVOICE, rateOfDay: null }))).toEqual({
    currency: 'EUR',
    amount: '76.55',
    rate: rate('1.102'),
  })
  expect(homeValueOf(LINE, terms({ invoice: INVOICE })).amount).toBe('38.28')
  const anyNetwork = {
    assets: ['USDC_BASE', 'USDC_POLYGON'],
    amount: 84_370_000n,
    coinRate: rate('1'),
    price: INVOICE.price,
    dollars: null,
  } as const
  const onPolygon = { asset: 'USDC_POLYGON', amount: 84_370_000n, usdCents: 8_437n } as const
  expect(homeValueOf(onPolygon, terms({ invoice: anyNetwork })).amount).toBe('76.55')
  // In dollars of any issuer each token is what it counts for: 40 USDT at a hair over a dollar are not 40 USDC.
  const dollars = { usdCents: 8_437n, tokenRates: { USDC: rate('0.9998'), USDT: rate('1.0003') } }
  const mixed = {
    ...anyNetwork,
    assets: ['USDC_BASE', 'USDT_POLYGON'],
    coinRate: rate('0.9998'),
    dollars,
  } as const
  const inUsdt = { asset: 'USDT_POLYGON', amount: 84_344_697n, usdCents: 8_437n } as const
  expect(homeValueOf(inUsdt, terms({ invoice: mixed })).amount).toBe('76.55')
})

test.each([
  ['at another value than the invoice’s', { ...LINE, usdCents: 3_000n }, INVOICE],
  ['in another coin', { ...LINE, asset: 'BTC' as const }, INVOICE],
  ['for an invoice in a third currency', LINE, { ...INVOICE, price: { ...INVOICE.price, currency: 'GBP' } }],
])('what comes %s is worth its dollars at the rate of the day', (_name, line, invoice) => {
  const value = homeValueOf(line, terms({ invoice: invoice as HomeTerms['invoice'] }))
  expect(value.rate).toEqual(rate('1.1'))
})

test('a value is off its dollars by half a cent of the currency at most', () => {
  fc.assert(
    fc.property(fc.bigInt(0n, 10n ** 9n), fc.integer({ min: 1, max: 10 ** 6 }), (usdCents, milli) => {
      const text = (milli / 1_000).toFixed(3)
      const { amount } = homeValueOf({ ...LINE, usdCents }, terms({ rateOfDay: rate(text) }))
      const units = BigInt((amount ?? '').replace('.', ''))
      const error = units * BigInt(milli) - usdCents * 1_000n
      expect((error < 0n ? -error : error) * 2n).toBeLessThanOrEqual(BigInt(milli))
    }),
  )
})
