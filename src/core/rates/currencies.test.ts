import { expect, test } from 'vitest'
import { parsePrice } from '../money.ts'
import { CURRENCIES, confirmedRates, ROUND_RATES } from './currencies.ts'

const price = (text: string): bigint => parsePrice(text) ?? 0n

test.each([
  ['the same', '1.1', '1.1', true],
  ['three hundredths more', '1.133', '1.1', true],
  ['a hair more than that', '1.133000000001', '1.1', false],
  ['three hundredths less', '1.067', '1.1', true],
  ['a hair less than that', '1.066999999999', '1.1', false],
  ['turned over', '0.90909', '1.1', false],
  ['of a thousand units', '1100', '1.1', false],
  ['of a thousandth', '0.0011', '1.1', false],
])('a rate that is %s counts where it is near the reference', (_name, moment, day, counts) => {
  const confirmed = confirmedRates(new Map([['EUR', price(moment)]]), new Map([['EUR', price(day)]]))
  expect([...confirmed]).toEqual(counts ? [['EUR', price(moment)]] : [])
})

test('a rate that only one source has does not count', () => {
  const [euro, pound] = [new Map([['EUR', 11n] as const]), new Map([['GBP', 12n] as const])]
  expect(confirmedRates(euro, pound).size).toBe(0)
})

test('each currency is one that this platform can write, at a rate of test mode', () => {
  const known = Intl.supportedValuesOf('currency')
  for (const currency of CURRENCIES) {
    expect(known).toContain(currency)
    expect(ROUND_RATES.get(currency)).toBeGreaterThan(0n)
  }
})
