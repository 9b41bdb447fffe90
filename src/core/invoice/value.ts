import { ASSETS, type AssetId, COINS, type PaymentAsset } from '../assets.ts'
import { PRICE_UNIT, parsePrice } from '../money.ts'
import type { Invoice, TokenRates } from './types.ts'

/** What measuring reads of an invoice. */
export type MeasuredInvoice = Pick<
  Invoice,
  'asset' | 'amount' | 'usdCents' | 'tokenRates' | 'toleranceUnder' | 'toleranceOver'
>

/**
 * How an invoice adds up what came to it. Most count base units of one token. One that asks for dollars of any issuer counts
 * what each token is worth at its locked rate, in base units × 10⁻¹² dollar, so that no payment is ever rounded: a thousand
 * small ones are worth exactly what one is.
 */
type Measure = {
  /** What a payment counts for. */
  worthOf(payment: { readonly asset: PaymentAsset; readonly amount: bigint }): bigint
  readonly due: bigint
  /** The least and the most that are `paid`. */
  readonly least: bigint
  readonly most: bigint
  /** A value in base units of the invoice's asset, so that `amount` of it is what is due. Rounded down. */
  unitsOf(value: bigint): bigint
  /** What of an asset brings at least this value: base units. */
  unitsFor(value: bigint, asset: AssetId): bigint
}

export function measureOf(invoice: MeasuredInvoice): Measure {
  const { amount, toleranceUnder, toleranceOver } = invoice
  return (
    dollarMeasure(invoice) ?? {
      worthOf: (payment) => payment.amount,
      due: amount,
      least: amount - toleranceUnder,
      most: amount + toleranceOver,
      unitsOf: (value) => value,
      unitsFor: (value) => value,
    }
  )
}

function dollarMeasure({
  asset,
  amount,
  usdCents,
  tokenRates,
  toleranceUnder,
  toleranceOver,
}: MeasuredInvoice): Measure | null {
  const { symbol, decimals } = ASSETS[asset]
  const prices = tokenRates === null ? null : pricesOf(tokenRates)
  const own = prices?.get(symbol)
  if (prices === null || own === undefined || usdCents === null) return null
  const due = dollarsDue(usdCents, decimals)
  const dearest = [...prices.values()].reduce((most, price) => (price > most ? price : most))
  return {
    worthOf: (payment) => payment.amount * (prices.get(COINS[payment.asset].symbol) ?? 0n),
    due,
    least: due - toleranceUnder * PRICE_UNIT,
    // Less than one base unit of a token too much is the rounding of what is left to pay, and no overpayment.
    most: due + toleranceOver * PRICE_UNIT + dearest - 1n,
    unitsOf: (value) => amount + divideDown(value - due, own),
    unitsFor: (value, paid) => -divideDown(-value, prices.get(ASSETS[paid].symbol) ?? own),
  }
}

/** Cents as the value that pays them: base units of a token with these decimals × 10⁻¹² dollar. */
export const dollarsDue = (usdCents: bigint, decimals: number): bigint =>
  (usdCents * 10n ** BigInt(decimals) * PRICE_UNIT) / 100n

/** Of rates that were read before: a status is derived many times from one invoice. */
const known = new WeakMap<TokenRates, ReadonlyMap<string, bigint>>()

function pricesOf(rates: TokenRates): ReadonlyMap<string, bigint> {
  const before = known.get(rates)
  if (before !== undefined) return before
  const prices = new Map<string, bigint>()
  for (const [symbol, rate] of Object.entries(rates)) {
    const price = rate === undefined ? null : parsePrice(rate.usdPerUnit)
    if (price !== null) prices.set(symbol, price)
  }
  known.set(rates, prices)
  return prices
}

/** Towards less, also below zero. By a positive number. */
const divideDown = (dividend: bigint, divisor: bigint): bigint =>
  dividend >= 0n ? dividend / divisor : -((-dividend + divisor - 1n) / divisor)
