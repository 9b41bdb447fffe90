import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  affordablePrice,
  DATA_COST_MAX,
  gasCostOf,
  gasPriceOf,
  inToken,
  replacingPrice,
  TOKEN_SWEEP_GAS,
  TOKEN_TRANSFER_GAS,
  TRANSFER_GAS,
  tokenSweepCostOf,
  tokenSweepGasAt,
  tokenTransferGasAt,
  transferGasAt,
} from './gas.ts'

const wei = fc.bigInt({ min: 0n, max: 10n ** 13n })
const gas = fc.bigInt({ min: 0n, max: 10n ** 20n })
const gasPriceMax = 10n ** 12n
const market = fc.record({
  ...{ baseFee: wei, tip: wei, l1Fee: wei, dataGas: gas },
  gasPriceMax: fc.constant(gasPriceMax),
})

test('a price covers the base fee, its tip is part of it, and it is never above what is believed', () => {
  fc.assert(
    fc.property(market, (now) => {
      const price = gasPriceOf(now)
      expect(price.tip).toBeLessThanOrEqual(price.maxFee)
      expect(price.maxFee).toBeLessThanOrEqual(gasPriceMax)
      if (price.maxFee < gasPriceMax) expect(price.maxFee).toBeGreaterThanOrEqual(now.baseFee)
    }),
  )
})

test('what takes the place of a waiting transaction pays a tenth more at least in both fields', () => {
  fc.assert(
    fc.property(market, market, (before, now) => {
      const last = gasPriceOf(before)
      const next = replacingPrice(last, now)
      expect(next.maxFee * 10n).toBeGreaterThanOrEqual(last.maxFee * 11n)
      expect(next.tip * 10n).toBeGreaterThanOrEqual(last.tip * 11n)
    }),
  )
})

test('an affordable price never costs more than may be spent, and is none where that is too little', () => {
  fc.assert(
    fc.property(market, wei, wei, (now, costMax, least) => {
      const price = affordablePrice(gasPriceOf(now), 21_000n, { costMax, l1Fee: now.l1Fee, least })
      if (price === null) return
      expect(price.maxFee).toBeGreaterThanOrEqual(least)
      expect(price.tip).toBeLessThanOrEqual(price.maxFee)
      if (price.maxFee > 0n) expect(gasCostOf(21_000n, price, now)).toBeLessThanOrEqual(costMax)
    }),
  )
})

test('at three gwei and 3,000 dollars for ether a sweep costs 90 cents, rounded up', () => {
  const dollar = { price: 10n ** 12n, decimals: 6 }
  const ether = { price: 3_000n * 10n ** 12n, decimals: 18 }
  const gwei = 10n ** 9n
  const cost = tokenSweepCostOf(
    { baseFee: 2n * gwei, tip: gwei, l1Fee: 0n, dataGas: 0n, gasPriceMax },
    { isDelegated: false },
  )
  expect(inToken(cost, { native: ether, token: dollar })).toBe(900_000n)
  expect(inToken(1n, { native: ether, token: dollar })).toBe(1n)
  expect(inToken(0n, { native: ether, token: dollar })).toBe(0n)
})

test('where gas pays for data, half as much again is bought, and for a token two and three times of it', () => {
  const market = { dataGas: 2_000n }
  const price = { maxFee: 30_000_000n, tip: 0n }
  expect(transferGasAt(price, market)).toBe(24_000n)
  expect(transferGasAt(price, market, 40_000n)).toBe(43_000n)
  expect(tokenTransferGasAt(price, market)).toBe(TOKEN_TRANSFER_GAS + 6_000n)
  expect(tokenSweepGasAt(price, market)).toBe(TOKEN_SWEEP_GAS + 9_000n)
})

test('no word of what data takes buys gas for more than a bound, at any price that a transaction has', () => {
  fc.assert(
    fc.property(market, market, (before, now) => {
      for (const price of [gasPriceOf(now), replacingPrice(gasPriceOf(before), now)]) {
        expect((transferGasAt(price, now) - TRANSFER_GAS) * price.maxFee).toBeLessThanOrEqual(DATA_COST_MAX)
        const sweep = tokenSweepGasAt(price, now) - TOKEN_SWEEP_GAS
        expect(sweep * price.maxFee).toBeLessThanOrEqual(3n * DATA_COST_MAX)
      }
    }),
  )
})
