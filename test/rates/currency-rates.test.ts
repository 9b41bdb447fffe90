import { afterEach, beforeEach, expect, test } from 'vitest'
import { CURRENCIES, type Currency, ROUND_RATES } from '../../src/core/rates/currencies.ts'
import { type CurrencyRates, createCurrencyRates } from '../../src/rates/currency-rates.ts'
import { coinbaseRates, ecbRates, type FakeRates, startFakeRates } from './fake-rates.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const FRIDAY = '2026-11-27'

let nowMs: number
let fake: FakeRates
let rates: CurrencyRates
let warnings: object[]
beforeEach(async () => {
  nowMs = Date.parse(`${FRIDAY}T17:00:00Z`)
  warnings = []
  fake = await startFakeRates({ coinbase: coinbaseRates(), ecb: ecbRates(FRIDAY) })
  rates = createCurrencyRates({
    urls: { coinbase: fake.url, ecb: fake.url },
    clock: () => new Date(nowMs),
    log: { warn: (fields) => warnings.push(fields) },
  })
})
afterEach(async () => {
  await rates.stop()
  await fake.close()
})

const live = () => rates.dollarsPerCurrency(true)
const dollarsPer = (currency: Currency) => live().get(currency)

test('every currency is worth what the source of the moment says where the central bank confirms it', async () => {
  await rates.refresh()
  expect(live().size).toBe(CURRENCIES.length)
  for (const currency of CURRENCIES)
    expect(Number(dollarsPer(currency)) / Number(ROUND_RATES.get(currency))).toBeCloseTo(1, 3)
  expect(warnings).toEqual([])
  expect(rates.report()).toEqual([
    { name: 'coinbase', fault: null },
    { name: 'ecb', fault: null },
  ])
})

test.each([
  ['the source of the moment lies', { coinbase: coinbaseRates({ JPY: '100' }) }],
  ['the central bank’s list has another rate', { ecb: ecbRates(FRIDAY, { JPY: '100' }) }],
  ['the rate is no number', { coinbase: coinbaseRates({ JPY: 'NaN' }) }],
  ['the rate is nothing', { coinbase: coinbaseRates({ JPY: '0' }) }],
  ['the rate is below nothing', { coinbase: coinbaseRates({ JPY: '-149' }) }],
  ['the central bank no longer lists it', { ecb: ecbRates(FRIDAY).replace(/.*'JPY'.*\n/, '') }],
])('a currency has no rate where %s, and the others have theirs', async (_name, answers) => {
  fake.answers = { ...fake.answers, ...answers }
  await rates.refresh()
  expect(dollarsPer('JPY')).toBeUndefined()
  expect(live().size).toBe(CURRENCIES.length - 1)
})

test.each([
  ['a page', { coinbase: '<html></html>' }, 'coinbase'],
  ['rates of another base', { coinbase: coinbaseRates().replace('"USD"', '"EUR"') }, 'coinbase'],
  ['a list without the dollar', { ecb: ecbRates(FRIDAY).replace(/.*'USD'.*\n/, '') }, 'ecb'],
  ['a list without its day', { ecb: ecbRates('yesterday') }, 'ecb'],
])('%s is no list of rates, and takes away the last one', async (_name, answers, source) => {
  await rates.refresh()
  nowMs += 60 * MINUTE_MS
  fake.answers = { ...fake.answers, ...answers }
  await rates.refresh()
  expect(live().size).toBe(0)
  expect(warnings).toEqual([{ source, reason: 'not the answer that is documented' }])
})

test('a failed request leaves rates good for their time, is said once, and is made again', async () => {
  await rates.refresh()
  fake.answers = { coinbase: '', ecb: '' }
  nowMs += 5 * MINUTE_MS
  await rates.refresh()
  nowMs += MINUTE_MS
  await rates.refresh()
  expect(live().size).toBe(CURRENCIES.length)
  expect(warnings).toEqual([{ source: 'coinbase', reason: 'HTTP status 500' }])
  nowMs += 5 * MINUTE_MS
  expect(live().size).toBe(0)
  fake.answers = { coinbase: coinbaseRates(), ecb: ecbRates(FRIDAY) }
  await rates.refresh()
  expect(live().size).toBe(CURRENCIES.length)
})

test('the central bank’s rates last over a long weekend and are asked for once an hour', async () => {
  for (let minute = 0; minute < 60; minute++) {
    await rates.refresh()
    nowMs += MINUTE_MS
  }
  const asked = (part: string) => fake.requests.filter((path) => path.includes(part)).length
  expect([asked('eurofxref'), asked('exchange-rates')]).toEqual([1, 60])
  nowMs = Date.parse(FRIDAY) + 5 * DAY_MS
  await rates.refresh()
  expect(live().size).toBe(CURRENCIES.length)
  nowMs = Date.parse(FRIDAY) + 8 * DAY_MS
  await rates.refresh()
  expect(live().size).toBe(0)
})

test('test mode has its table until a source is there; live mode never does', async () => {
  const test = () => rates.dollarsPerCurrency(false)
  expect([test().get('EUR'), live().size]).toEqual([1_100_000_000_000n, 0])
  const { url } = fake
  await fake.close()
  await rates.refresh()
  expect([test().get('EUR'), live().size]).toEqual([1_100_000_000_000n, 0])
  expect(warnings).toHaveLength(2)
  await rates.stop()
  fake = await startFakeRates({ coinbase: '{}', ecb: '' })
  rates = createCurrencyRates({
    urls: { coinbase: fake.url, ecb: url },
    clock: () => new Date(nowMs),
  })
  await rates.refresh()
  expect([test().size, live().size]).toEqual([0, 0])
})
