import { expect, test } from 'vitest'
import { fiatOf, fiatOfCents, isCurrency, parseFiat } from './fiat.ts'
import { parsePlace, US_STATES, WHOLE_COUNTRIES } from './places.ts'
import { TEST_CARD_OUTCOMES, TEST_CARDS, testCardOutcome } from './test-cards.ts'

test('a provider’s amounts are read exactly, shown in hundredths, and rounded up', () => {
  expect(parseFiat('100.75')).toBe(10_075_000_000n)
  expect(fiatOf(parseFiat('52.631') ?? 0n, 'USD')).toEqual({ amount: '52.64', currency: 'USD' })
  expect(fiatOf(parseFiat('0') ?? 1n, 'EUR')).toEqual({ amount: '0.00', currency: 'EUR' })
  expect(fiatOf(fiatOfCents(4_999n), 'USD').amount).toBe('49.99')
})

test('what is no plain amount or currency is none', () => {
  for (const text of ['', '-1', '1e3', '01', '1.', '.5', '1,5', ' 1', 'NaN', '٣', '9'.repeat(13)])
    expect(parseFiat(text), text).toBeNull()
  for (const text of ['', 'usd', 'USDC', 'US', '<b>']) expect(isCurrency(text), text).toBe(false)
})

test('a place is a country, or in the United States a state', () => {
  expect(parsePlace('DE')).toEqual({ country: 'DE', state: null })
  expect(parsePlace('US-CA')).toEqual({ country: 'US', state: 'CA' })
  for (const text of [
    '',
    'US',
    'de',
    'XX',
    'US-',
    'US-ca',
    'US-DE-',
    'DE-BY',
    'US-__proto__',
    'US-constructor',
  ])
    expect(parsePlace(text), text).toBeNull()
  expect(new Set(WHOLE_COUNTRIES).size).toBe(248)
  expect(Object.keys(US_STATES)).toHaveLength(51)
})

test('test numbers are known however they are spaced, and no other number is', () => {
  for (const outcome of TEST_CARD_OUTCOMES) expect(testCardOutcome(TEST_CARDS[outcome])).toBe(outcome)
  expect(testCardOutcome('4242 4242-4242 4242')).toBe('approved')
  for (const number of ['', '4242', '4111111111111111', '42424242424242424', 'approved'])
    expect(testCardOutcome(number)).toBeNull()
})
