import { expect, test } from 'vitest'
import {
  type BlockDepth,
  blockTagAt,
  type Finality,
  isFinal,
  isFinalityFor,
  strictestFinality,
} from './finality.ts'

test.each<[Finality, BlockDepth, boolean]>([
  [3, { confirmations: 2 }, false],
  [3, { confirmations: 3 }, true],
  [3, { confirmations: 2, tag: 'finalized' }, false],
  ['safe', { confirmations: 900 }, false],
  ['safe', { confirmations: 1, tag: 'safe' }, true],
  ['safe', { confirmations: 1, tag: 'finalized' }, true],
  ['finalized', { confirmations: 900, tag: 'safe' }, false],
  ['finalized', { confirmations: 1, tag: 'finalized' }, true],
])('a payment that needs %s in a block %o is final: %s', (finality, depth, expected) => {
  expect(isFinal(finality, depth)).toBe(expected)
})

test('a block has the highest tag at or above it', () => {
  const blockTags = { safe: 10, finalized: 5 }
  expect([5, 6, 10, 11].map((height) => blockTagAt(height, blockTags))).toEqual([
    'finalized',
    'safe',
    'safe',
    null,
  ])
  expect(blockTagAt(1, null)).toBeNull()
})

test('what the invoice has no rule for waits the longest, by the measure of its chain', () => {
  expect([strictestFinality('LTC'), strictestFinality('ETH'), strictestFinality('SOL')]).toEqual([
    24,
    'finalized',
    'finalized',
  ])
})

test('a rule names a tag only where the chain has it', () => {
  expect(['BTC', 'USDC_BASE', 'SOL'].map((asset) => isFinalityFor(asset as 'BTC', 'safe', 9))).toEqual([
    false,
    true,
    false,
  ])
  expect(isFinalityFor('SOL', 'finalized', 9)).toBe(true)
  for (const value of [0, 10, 1.5, '1', 'latest', null]) expect(isFinalityFor('ETH', value, 9)).toBe(false)
})
