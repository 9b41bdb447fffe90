import { expect, test } from 'vitest'
import { parsePlausiblePrice } from './plausible-price.ts'

test('an ordinary price is taken exactly', () => {
  expect(parsePlausiblePrice('BTC', '97123.45')).toBe(97_123_450_000_000_000n)
  expect(parsePlausiblePrice('USDC', '0.9998')).toBe(999_800_000_000n)
})

test('what is no plain decimal number is no price', () => {
  for (const text of [
    '',
    'NaN',
    'Infinity',
    '-97123',
    '+97123',
    '9.7e4',
    '0x17B63',
    '97,123',
    ' 97123',
    '٩٧١٢٣',
    '97123.',
  ]) {
    expect(parsePlausiblePrice('BTC', text)).toBeNull()
  }
})

test('a price turned over, in thousands, in cents for dollars, or zero is no price', () => {
  for (const text of ['0', '0.0000103', '97123450.00', '97.12345']) {
    expect(parsePlausiblePrice('BTC', text)).toBeNull()
  }
  for (const text of ['0', '0.0103', '97000']) expect(parsePlausiblePrice('LTC', text)).toBeNull()
  for (const text of ['0', '0.001', '1000', '100']) expect(parsePlausiblePrice('USDC', text)).toBeNull()
})
