import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SOLANA_FEE_MIN, solanaFee, UNIT_PRICE_MAX, unitPriceWithin, usualUnitPrice } from './solana-fee.ts'

const price = fc.integer({ min: 0, max: UNIT_PRICE_MAX })

test('a payout never costs more than was approved, and pays the usual price where that fits', () => {
  fc.assert(
    fc.property(price, fc.bigInt({ min: 0n, max: 40_000n }), (wanted, feeMax) => {
      const offered = unitPriceWithin(wanted, feeMax)
      if (offered === null) {
        expect(feeMax).toBeLessThan(SOLANA_FEE_MIN)
        return
      }
      expect(solanaFee(offered)).toBeLessThanOrEqual(feeMax)
      expect(offered).toBe(solanaFee(wanted) <= feeMax ? wanted : Math.min(offered, wanted))
    }),
  )
})

test('two signatures and the units at their price, rounded up, are the fee', () => {
  expect(solanaFee(0)).toBe(10_000n)
  expect(solanaFee(1)).toBe(10_001n)
  expect(solanaFee(1_000_000)).toBe(12_000n)
})

test('the usual price is the middle of what was paid, none where nobody paid, and never beyond reason', () => {
  expect(usualUnitPrice([])).toBe(0)
  expect(usualUnitPrice([9, 1, 5])).toBe(5)
  expect(usualUnitPrice([UNIT_PRICE_MAX * 2])).toBe(UNIT_PRICE_MAX)
})
