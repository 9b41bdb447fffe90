import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  coinAmountForUsd,
  formatCoinAmount,
  formatPrice,
  formatUsd,
  parseCoinAmount,
  parsePrice,
  parseUsd,
  typedAmount,
  usdValueOf,
} from './money.ts'

test('a dollar amount has at most two decimals, no sign, no exponent and no leading zero', () => {
  expect(parseUsd('49.99')).toBe(4999n)
  expect(parseUsd('0.5')).toBe(50n)
  expect(parseUsd('100000')).toBe(10_000_000n)
  const refused = [
    '',
    '.5',
    '5.',
    '05',
    '-0',
    '+1',
    '1e5',
    '0x10',
    '1,000',
    '1.234',
    ' 1',
    '1 ',
    '١',
    '１',
    '1000000',
    'NaN',
  ]
  for (const text of refused) expect(parseUsd(text), text).toBeNull()
})

test('a coin amount is canonical: one spelling for each amount', () => {
  expect(parseCoinAmount('0.00000001', 8)).toBe(1n)
  expect(parseCoinAmount('1', 8)).toBe(100_000_000n)
  for (const text of ['1.0', '01', '.1', '1.', '0.000000001', '-1', '1e-8', '', '٣']) {
    expect(parseCoinAmount(text, 8), text).toBeNull()
  }
})

test('every coin amount reads back as what was written', () => {
  const cases = fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 40n }), fc.constantFrom(6, 8, 9, 18))
  fc.assert(
    fc.property(cases, ([units, decimals]) => {
      expect(parseCoinAmount(formatCoinAmount(units, decimals), decimals)).toBe(units)
    }),
  )
})

test('every dollar amount reads back as what was written', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 99_999_999n }), (cents) => {
      expect(parseUsd(formatUsd(cents))).toBe(cents)
    }),
  )
})

test('the coin amount is worth at least the dollars, and one unit less is not', () => {
  const price = fc.bigInt({ min: 1n, max: 10n ** 19n })
  const cents = fc.bigInt({ min: 50n, max: 10_000_000n })
  fc.assert(
    fc.property(cents, price, fc.constantFrom(6, 8, 9, 18), (usdCents, usdPerUnit, decimals) => {
      const units = coinAmountForUsd(usdCents, usdPerUnit, decimals)
      const worth = (amount: bigint) => amount * usdPerUnit * 100n
      const owed = usdCents * 10n ** BigInt(decimals + 12)
      expect(worth(units) >= owed).toBe(true)
      expect(worth(units - 1n) < owed).toBe(true)
    }),
  )
})

test('a price is a plain positive decimal number', () => {
  expect(parsePrice('97123.45')).toBe(97_123_450_000_000_000n)
  expect(formatPrice(97_123_450_000_000_000n)).toBe('97123.45')
  for (const text of ['0', '0.0', '-1', 'NaN', 'Infinity', '1e5', '', '1.2.3'])
    expect(parsePrice(text), text).toBeNull()
})

test('the dollar value of a coin amount is rounded down to the cent', () => {
  expect(usdValueOf(1n, 10n ** 14n, 8)).toBe(0n)
  expect(usdValueOf(100_000_000n, 10n ** 14n, 8)).toBe(10_000n)
})

test.each([
  ['12,50', 2, '12.50'],
  [' 0,5 ', 8, '0.5'],
  ['0,123', 18, '0.123'],
  ['1,2345', 8, '1.2345'],
  ['1234,567', 8, '1234.567'],
  ['12.50', 2, '12.50'],
  // Thousands to some, or more decimals than there are.
  ['1,234', 8, '1,234'],
  ['12,345', 2, '12,345'],
  ['500,00', 0, '500,00'],
  ['1.234,50', 2, '1.234,50'],
  ['1,234.50', 2, '1,234.50'],
  ['1,2,3', 2, '1,2,3'],
  [',50', 2, ',50'],
  ['12,', 2, '12,'],
  ['-1,50', 2, '-1,50'],
  ['', 2, ''],
])('what is typed as "%s", with at most %i decimals, is "%s"', (typed, decimals, meant) => {
  expect(typedAmount(typed, decimals)).toBe(meant)
})
