import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ASSET_IDS, ASSETS } from '../assets.ts'
import { parsePrice, usdValueOf } from '../money.ts'
import { readPaymentRules } from '../payment-rules.ts'
import { type InvoiceTerms, type Price, quoteInvoice } from './quote.ts'

const rules = readPaymentRules({})
const nowMs = Date.UTC(2026, 10, 21)

function priceOf(usdPerUnit: string): Price {
  const price = parsePrice(usdPerUnit)
  if (price === null) throw new Error(usdPerUnit)
  return { price, evidence: { usdPerUnit, quotedAt: new Date(nowMs).toISOString(), sources: [] } }
}
const ltc = { asset: 'LTC', rules, price: priceOf('84.37'), parameters: 'main', nowMs } as const
const usd = (usdAmount: string) => ({ kind: 'usd', usdAmount }) as const
const coin = (amount: string) => ({ kind: 'coin', amount }) as const

function termsOf(quote: ReturnType<typeof quoteInvoice>): InvoiceTerms {
  if (quote.kind !== 'quoted') throw new Error(JSON.stringify(quote))
  return quote.terms
}

test('dollars become coins, rounded up once to the smallest unit', () => {
  const terms = termsOf(quoteInvoice(usd('49.9'), ltc))
  expect(terms).toMatchObject({
    asset: 'LTC',
    amount: 59_144_246n,
    usdCents: 4_990n,
    confirmations: { LTC: 6 },
  })
  expect(terms.rate).toEqual(ltc.price.evidence)
  expect(terms.expiresAtMs - terms.createdAtMs).toBe(3_600_000)
})

test('an invoice is never worth less than was asked, and never a unit more than it must be', () => {
  const cents = fc.bigInt({ min: 50n, max: 10_000_000n })
  const price = fc.bigInt({ min: 10n ** 9n, max: 10n ** 18n })
  fc.assert(
    fc.property(fc.constantFrom(...ASSET_IDS), cents, price, (asset, usdCents, perUnit) => {
      const quote = quoteInvoice(usd(`${usdCents / 100n}.${String(usdCents % 100n).padStart(2, '0')}`), {
        ...ltc,
        asset,
        price: { price: perUnit, evidence: ltc.price.evidence },
      })
      if (quote.kind !== 'quoted') return quote.kind === 'refused' && quote.code === 'amount_too_small'
      const { decimals } = ASSETS[asset]
      // One unit less would be worth less than the dollars asked for.
      const exact = (units: bigint) =>
        units * perUnit * 100n >= usdCents * 10n ** BigInt(decimals) * 10n ** 12n
      return (
        exact(quote.terms.amount) &&
        !exact(quote.terms.amount - 1n) &&
        usdValueOf(quote.terms.amount, perUnit, decimals) >= usdCents
      )
    }),
    { numRuns: 2_000 },
  )
})

test('dollar amounts keep their grammar and their limits', () => {
  const codeOf = (text: string) => {
    const quote = quoteInvoice(usd(text), ltc)
    return quote.kind === 'refused' ? quote.code : quote.kind
  }
  for (const text of ['0.50', '0.5', '1', '100000', '100000.00']) expect(codeOf(text)).toBe('quoted')
  for (const text of ['0', '0.00', '0.49']) expect(codeOf(text)).toBe('amount_too_small')
  for (const text of ['100000.01', '999999']) expect(codeOf(text)).toBe('amount_too_large')
  const odd = [
    '',
    ' 1',
    '1 ',
    '1e5',
    '0x10',
    '-0',
    '-1',
    '+1',
    '01',
    '1.',
    '.5',
    '1.234',
    '1,5',
    '١',
    '1000000',
    'NaN',
  ]
  for (const text of odd) expect(codeOf(text)).toBe('parameter_invalid')
})

test('an invoice is never under its asset’s minimum, whichever way it is asked for', () => {
  const dear = { ...ltc, asset: 'BTC', price: priceOf('300000') } as const
  expect(quoteInvoice(usd('0.98'), dear)).toEqual({ kind: 'refused', code: 'amount_too_small' })
  expect(quoteInvoice(usd('0.99'), dear).kind).toBe('quoted')
  expect(quoteInvoice(coin('0.0000032'), { ...ltc, asset: 'BTC' })).toEqual({
    kind: 'refused',
    code: 'amount_too_small',
  })
  expect(quoteInvoice(coin('0.0000033'), { ...ltc, asset: 'BTC' }).kind).toBe('quoted')
  expect(quoteInvoice(coin('0'), { ...ltc, asset: 'SOL' })).toEqual({
    kind: 'refused',
    code: 'amount_too_small',
  })
})

test('a coin amount needs no price, and a price at hand is kept as evidence and decides the confirmations', () => {
  const priced = termsOf(quoteInvoice(coin('1.5'), ltc))
  expect(priced).toMatchObject({ amount: 150_000_000n, usdCents: null, confirmations: { LTC: 6 } })
  expect(priced.rate).toEqual(ltc.price.evidence)
  const unpriced = termsOf(quoteInvoice(coin('1.5'), { ...ltc, price: null }))
  expect(unpriced).toMatchObject({
    amount: 150_000_000n,
    usdCents: null,
    rate: null,
    confirmations: { LTC: 24 },
  })
  expect(quoteInvoice(usd('10'), { ...ltc, price: null })).toEqual({ kind: 'rate_unavailable' })
})

test('a coin amount is canonical and of the coin’s precision', () => {
  for (const amount of ['1.0', '01', '1.', '1e3', '-1', '', ' 1', '0.000000001', '1.500000001']) {
    expect(quoteInvoice(coin(amount), ltc)).toEqual({ kind: 'refused', code: 'parameter_invalid' })
  }
  expect(quoteInvoice(coin('1000000001'), ltc)).toEqual({ kind: 'refused', code: 'amount_too_large' })
})
