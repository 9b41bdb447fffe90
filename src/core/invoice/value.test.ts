import fc from 'fast-check'
import { expect, test } from 'vitest'
import { litecoinPayment } from '../../../test/support/checkout-invoice.ts'
import { makeInvoice } from '../../../test/support/invoice.ts'
import { coinAmountForUsd, formatPrice, PRICE_UNIT } from '../money.ts'
import { amountsOf, deriveStatus, remainingIn } from './status.ts'
import type { Invoice } from './types.ts'

const price = fc.bigInt({ min: (98n * PRICE_UNIT) / 100n, max: (102n * PRICE_UNIT) / 100n })
const terms = fc.record({ usdCents: fc.bigInt({ min: 50n, max: 10_000_000n }), usdc: price, usdt: price })

const rate = (of: bigint) => ({ usdPerUnit: formatPrice(of), quotedAt: '', sources: [] })

function dollars({ usdCents, usdc, usdt }: { usdCents: bigint; usdc: bigint; usdt: bigint }): Invoice {
  return makeInvoice({
    asset: 'USDC_BASE',
    alsoAccepts: ['USDT_ARBITRUM'],
    usdCents,
    amount: coinAmountForUsd(usdCents, usdc, 6),
    rate: rate(usdc),
    tokenRates: { USDC: rate(usdc), USDT: rate(usdt) },
  })
}

function paid(invoice: Invoice, ...sent: (readonly ['USDC_BASE' | 'USDT_ARBITRUM', bigint])[]): Invoice {
  const payments = sent.map(([asset, amount]) => litecoinPayment({ asset, amount, status: 'confirmed' }))
  return { ...invoice, payments }
}

test('who pays all, or any part and then what is left in any token, has paid; a base unit less is short', () => {
  fc.assert(
    fc.property(terms, fc.bigInt({ min: 1n, max: 99n }), fc.boolean(), (of, percent, inUsdt) => {
      const invoice = dollars(of)
      const other = inUsdt ? 'USDT_ARBITRUM' : 'USDC_BASE'
      for (const asset of ['USDC_BASE', 'USDT_ARBITRUM'] as const) {
        const whole = remainingIn(invoice, asset)
        expect(deriveStatus(paid(invoice, [asset, whole]))).toBe('paid')
        expect(deriveStatus(paid(invoice, [asset, whole - 1n]))).toBe('partially_paid')
        const part = (whole * percent) / 100n + 1n
        if (part >= whole) continue
        const left = remainingIn(paid(invoice, [asset, part]), other)
        const both = paid(invoice, [asset, part], [other, left])
        expect(deriveStatus(both)).toBe('paid')
        expect(deriveStatus(paid(invoice, [asset, part], [other, left - 1n]))).not.toBe('paid')
        // What is worth less than was asked for never pays it.
        const prices = { USDC_BASE: of.usdc, USDT_ARBITRUM: of.usdt }
        const worth = part * prices[asset] + left * prices[other]
        expect(worth).toBeGreaterThanOrEqual(of.usdCents * 10n ** 16n)
        expect(amountsOf(both)).toMatchObject({ remaining: 0n })
        expect(amountsOf(both).confirmed).toBeGreaterThanOrEqual(invoice.amount)
      }
    }),
    { numRuns: 300 },
  )
})

test('a payment in a thousand parts is worth exactly what it is in one', () => {
  fc.assert(
    fc.property(terms, fc.bigInt({ min: 10_000n, max: 100_000n }), (of, part) => {
      const invoice = dollars(of)
      const parts = Array.from({ length: 1_000 }, () => ['USDT_ARBITRUM', part] as const)
      expect(amountsOf(paid(invoice, ...parts))).toEqual(
        amountsOf(paid(invoice, ['USDT_ARBITRUM', part * 1_000n])),
      )
    }),
    { numRuns: 20 },
  )
})
