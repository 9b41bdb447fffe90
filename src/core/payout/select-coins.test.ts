import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Coin, feeFor, INPUTS_MAX, selectCoins, vbytesOf } from './select-coins.ts'

const coinsOf = (amounts: readonly bigint[]): Coin[] =>
  amounts.map((amount, outputIndex) => ({ txid: 'a'.repeat(64), outputIndex, amount }))
const sum = (coins: readonly Coin[]): bigint => coins.reduce((total, { amount }) => total + amount, 0n)
const amounts = fc.array(fc.bigInt({ min: 1n, max: 10_000_000n }), { minLength: 1, maxLength: 40 })
const terms = { rate: 2_500n, changeMin: 546n }

test('coins and change agree with the amount to the last unit, no coin twice, no change too small to send', () => {
  fc.assert(
    fc.property(amounts, fc.bigInt({ min: 1n, max: 50_000_000n }), (values, amount) => {
      const coins = coinsOf(values)
      const chosen = selectCoins(coins, amount, terms)
      if (chosen === null) {
        // All coins together do not do either.
        const over = sum(coins) - amount
        expect(over < terms.changeMin).toBe(true)
        return
      }
      expect(sum(chosen.coins)).toBe(amount + chosen.change)
      expect(new Set(chosen.coins).size).toBe(chosen.coins.length)
      expect(chosen.change === 0n || chosen.change >= terms.changeMin).toBe(true)
      expect(chosen.fee).toBe(feeFor(vbytesOf(chosen.coins.length, chosen.change > 0n), terms.rate))
    }),
  )
})

test('all coins together pay out everything, and the same coins in any order give the same choice', () => {
  fc.assert(
    fc.property(amounts, fc.bigInt({ min: 1n, max: 20_000_000n }), (values, amount) => {
      const coins = coinsOf(values)
      expect(selectCoins(coins, sum(coins), terms)?.change).toBe(0n)
      expect(selectCoins([...coins].reverse(), amount, terms)).toEqual(selectCoins(coins, amount, terms))
    }),
  )
})

test('coins that fit exactly are preferred over change', () => {
  const chosen = selectCoins(coinsOf([70_000n, 50_000n, 30_000n, 20_000n]), 50_000n, terms)
  expect(chosen?.change).toBe(0n)
})

test.each([1_000n, 2_000n, 10_000n, 20_000n, 500_000n])(
  'an exact match costs no more than change would, at a rate of %s',
  (rate) => {
    const small = Array.from({ length: 1_000 }, () => 10_000n)
    const chosen = selectCoins(coinsOf([50_000_000n, ...small]), 10_000_000n, { rate, changeMin: 546n })
    expect(chosen?.coins.map(({ amount }) => amount)).toEqual([50_000_000n])
    expect(chosen?.fee).toBe(feeFor(154, rate))
    // With nothing else to pay from, all of them go out.
    const all = selectCoins(coinsOf(small), 10_000_000n, { rate, changeMin: 546n })
    expect(all).toMatchObject({ change: 0n, fee: feeFor(69_054, rate) })
  },
)

test('of several exact matches the one of the fewest coins is chosen', () => {
  const amounts = [70_000n, 60_000n, 40_000n, 20_000n, 10_000n]
  const chosen = selectCoins(coinsOf(amounts), 100_000n, terms)
  expect(chosen?.coins.map(({ amount }) => amount)).toEqual([60_000n, 40_000n])
})

test('a fee is never above that of the fewest coins with change by more than an input', () => {
  fc.assert(
    fc.property(amounts, fc.bigInt({ min: 1n, max: 50_000_000n }), (values, amount) => {
      const chosen = selectCoins(coinsOf(values), amount, terms)
      const sorted = [...values].sort((a, b) => (a < b ? 1 : -1))
      const enough = sorted.findIndex((_, at) => {
        const worth = sorted.slice(0, at + 1).reduce((total, value) => total + value, 0n)
        return worth >= amount + terms.changeMin
      })
      if (enough >= 0) expect(chosen?.coins.length).toBeLessThanOrEqual(enough + 2)
    }),
  )
})

test('no transaction has more inputs than fit, and a hundred thousand small coins are judged at once', () => {
  const coins = coinsOf(Array.from({ length: 3_000 }, () => 1_000n))
  expect(selectCoins(coins, BigInt(INPUTS_MAX + 5) * 1_000n, terms)).toBeNull()
  expect(selectCoins(coins, 500_500n, terms)?.coins.length).toBeLessThan(INPUTS_MAX)
})
