import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ASSET_IDS, ASSETS } from '../assets.ts'
import { coinAmountForUsd, formatPrice, parsePrice, usdValueOf } from '../money.ts'
import { agreePrice, median, type Observation } from './median.ts'

const NOW = 1_800_000_000_000
const usd = (text: string): bigint => parsePrice(text) ?? 0n

function said(source: string, price: string, changes: Partial<Observation> = {}): Observation {
  return { source, price: usd(price), receivedAtMs: NOW, exchangeTimeMs: NOW, ...changes }
}

function outcome(...observations: Observation[]): string {
  const agreed = agreePrice(observations, NOW)
  if (agreed.kind === 'unavailable') return 'unavailable'
  return `${formatPrice(agreed.price)} of ${agreed.used.map((used) => used.source).join()}`
}

test('three exchanges that agree give their median', () => {
  expect(outcome(said('a', '100.2'), said('b', '100'), said('c', '99.9'))).toBe('100 of a,b,c')
})

test('two exchanges that agree give their mean', () => {
  expect(outcome(said('a', '100'), said('b', '101'))).toBe('100.5 of a,b')
})

test('one exchange alone gives no price', () => {
  expect(outcome(said('a', '100'))).toBe('unavailable')
  expect(outcome()).toBe('unavailable')
})

test('a price off by a thousand, turned over or zero is outvoted by two that agree', () => {
  for (const lie of ['100000', '0.1', '0.01', '0', '102.1']) {
    expect(outcome(said('a', '100'), said('liar', lie), said('c', '101'))).toBe('100.5 of a,c')
  }
})

test('one honest exchange against one liar gives no price', () => {
  for (const lie of ['100000', '0.1', '0.01', '0', '97']) {
    expect(outcome(said('a', '100'), said('liar', lie))).toBe('unavailable')
  }
})

test('three exchanges that all differ give no price', () => {
  expect(outcome(said('a', '100'), said('b', '110'), said('c', '121'))).toBe('unavailable')
})

test('exactly one hundredth from the median counts, and a hair more does not', () => {
  expect(outcome(said('a', '99'), said('b', '100'), said('c', '110'))).toBe('99.5 of a,b')
  expect(outcome(said('a', '98.999999999999'), said('b', '100'), said('c', '110'))).toBe('unavailable')
})

test('a price is good for sixty seconds by our clock, and not a millisecond longer', () => {
  expect(outcome(said('a', '100'), said('b', '100', { receivedAtMs: NOW - 60_000 }))).toBe('100 of a,b')
  expect(outcome(said('a', '100'), said('b', '100', { receivedAtMs: NOW - 60_001 }))).toBe('unavailable')
})

test("a price is good for sixty seconds by the exchange's own clock, behind ours or ahead of it", () => {
  expect(outcome(said('a', '100'), said('b', '100', { exchangeTimeMs: NOW - 60_000 }))).toBe('100 of a,b')
  expect(outcome(said('a', '100'), said('b', '100', { exchangeTimeMs: NOW - 60_001 }))).toBe('unavailable')
  expect(outcome(said('a', '100'), said('b', '100', { exchangeTimeMs: NOW + 60_001 }))).toBe('unavailable')
  expect(outcome(said('a', '100'), said('b', '100', { exchangeTimeMs: null }))).toBe('100 of a,b')
})

const priceUnits = fc.bigInt({ min: 1n, max: 10n ** 20n })

test('the price never leaves the range of the prices used, in whatever order they came', () => {
  fc.assert(
    fc.property(fc.array(priceUnits, { minLength: 1, maxLength: 5 }), fc.nat(), (prices, seed) => {
      const observations = prices.map((price, index) => ({ ...said(`s${index}`, '1'), price }))
      const agreed = agreePrice(observations, NOW)
      const rotated = observations.map(
        (_, index) => observations[(index + seed) % prices.length] ?? said('x', '1'),
      )
      const again = agreePrice(rotated, NOW)
      expect(again.kind).toBe(agreed.kind)
      if (agreed.kind !== 'agreed' || again.kind !== 'agreed') return
      expect(again.price).toBe(agreed.price)
      expect(agreed.used.length).toBeGreaterThanOrEqual(2)
      const used = agreed.used.map((observation) => observation.price)
      expect(used.every((price) => price <= agreed.price)).toBe(used.every((price) => price === agreed.price))
      expect(used.some((price) => price <= agreed.price)).toBe(true)
      expect(used.some((price) => price >= agreed.price)).toBe(true)
    }),
  )
})

test('one liar among three never moves the price beyond what the honest two said, within the 1%', () => {
  fc.assert(
    fc.property(
      fc.bigInt({ min: 10n ** 9n, max: 10n ** 18n }),
      fc.bigInt({ min: 0n, max: 10n ** 24n }),
      (price, lie) => {
        const other = price + price / 1000n
        const observations = [price, other, lie].map((value, index) => ({
          ...said(`s${index}`, '1'),
          price: value,
        }))
        const agreed = agreePrice(observations, NOW)
        if (agreed.kind !== 'agreed') throw new Error('two honest exchanges agree')
        expect(agreed.price).toBeGreaterThanOrEqual(price - price / 50n)
        expect(agreed.price).toBeLessThanOrEqual(other + other / 50n)
      },
    ),
  )
})

test('the coin amount asked for is worth the dollars at every scale, and one unit less is not', () => {
  const cents = fc.bigInt({ min: 50n, max: 10_000_000n })
  const prices = fc.bigInt({ min: 10n ** 11n, max: 20_000_000n * 10n ** 12n })
  fc.assert(
    fc.property(fc.constantFrom(...ASSET_IDS), cents, prices, (id, usdCents, price) => {
      const { decimals } = ASSETS[id]
      const scale = 10n ** BigInt(decimals)
      const units = coinAmountForUsd(usdCents, price, decimals)
      // Exact, by cross multiplication: units × price ≥ dollars > (units − 1) × price.
      const dollars = usdCents * scale * 10n ** 10n
      expect(units * price).toBeGreaterThanOrEqual(dollars)
      expect((units - 1n) * price).toBeLessThan(dollars)
      expect(usdValueOf(units, price, decimals)).toBeGreaterThanOrEqual(usdCents)
    }),
    { numRuns: 2000 },
  )
})

test('splitting a total into a thousand invoices never makes it cheaper', () => {
  const price = usd('97123.456789')
  const { decimals } = ASSETS.BTC
  const whole = coinAmountForUsd(1_000_000n, price, decimals)
  expect(1000n * coinAmountForUsd(1000n, price, decimals)).toBeGreaterThanOrEqual(whole)
})

test('the median of an even number is the mean of the two in the middle, rounded down', () => {
  expect(median([4n, 1n, 9n, 7n])).toBe(5n)
  expect(median([3n])).toBe(3n)
  expect(() => median([])).toThrow()
})
