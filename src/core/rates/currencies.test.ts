import { expect, test } from 'vitest'
import { CURRENCIES, confirmedRates, ROUND_DOLLARS } from './currencies.ts'

test.each([
  ['the same', 1.1, 1.1, true],
  ['nearly three hundredths more', 1.132, 1.1, true],
  ['more than that', 1.134, 1.1, false],
  ['nearly three hundredths less', 1.068, 1.1, true],
  ['less than that', 1.066, 1.1, false],
  ['turned over', 1 / 1.1, 1.1, false],
])('a rate that is %s counts where it is near the reference', (_name, moment, day, counts) => {
  const confirmed = confirmedRates(new Map([['EUR', moment]]), new Map([['EUR', day]]))
  expect([...confirmed]).toEqual(counts ? [['EUR', moment]] : [])
})

test('a rate that only one source has does not count', () => {
  const [euro, pound] = [new Map([['EUR', 1.1] as const]), new Map([['GBP', 1.25] as const])]
  expect(confirmedRates(euro, pound).size).toBe(0)
})

test('each currency is one that this platform can write, at a rate of test mode', () => {
  const known = Intl.supportedValuesOf('currency')
  for (const currency of CURRENCIES) {
    expect(known).toContain(currency)
    expect(ROUND_DOLLARS[currency]).toBeGreaterThan(0)
  }
})
