import { expect, test } from 'vitest'
import { parseLosslessJson } from './solana-transport.ts'

test('integers beyond 2⁵³ keep every digit, and what is short or no integer stays as it is', () => {
  expect(
    parseLosslessJson(
      '{"a":[9007199254740993,-9007199254740993,12,0.1234567890123456,1e3,1234567890123456.5]}',
    ),
  ).toEqual({
    a: ['9007199254740993', '-9007199254740993', 12, 0.1234567890123456, 1000, 1234567890123456.5],
  })
})

test('an integer beyond 2⁵³ is found wherever JSON lets it stand', () => {
  const long = '9007199254740993'
  for (const [text, value] of [
    [long, long],
    [`-${long}`, `-${long}`],
    [`\n${long}`, long],
    [`[1,${long}]`, [1, long]],
    [`{"a" :\t${long}}`, { a: long }],
  ] as const)
    expect(parseLosslessJson(text)).toEqual(value)
})

test('digits inside of strings are left alone, whatever is escaped around them', () => {
  const texts = [
    '12345678901234567890',
    '\\',
    '\\"',
    '":9007199254740993,"',
    '\u{1F4B8}"9007199254740993',
    '\\\\"',
  ]
  for (const text of texts)
    expect(parseLosslessJson(JSON.stringify({ [text]: text }))).toEqual({ [text]: text })
})

test('what is cut off is an error, and soon', () => {
  const long = `["${'\\'.repeat(2_000_001)}`
  const startedAt = performance.now()
  expect(() => parseLosslessJson(long)).toThrow(SyntaxError)
  expect(() => parseLosslessJson(`["${'\\"'.repeat(500_000)}`)).toThrow(SyntaxError)
  expect(performance.now() - startedAt).toBeLessThan(5_000)
})
