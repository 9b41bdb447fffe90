import { formatFiat, formatUsd, parseFiat, usdCentsFor } from '../money.ts'
import { type Currency, currencyDecimals } from '../rates/currencies.ts'
import { USD_CENTS_MAX, USD_CENTS_MIN } from './quote.ts'
import type { CurrencyAmount, InvoicePrice, RateEvidence } from './types.ts'

/** What one of a currency is worth now, in 10⁻¹² US dollar, and who said so. */
export type CurrencyQuote = { readonly rate: bigint; readonly evidence: RateEvidence }

type PriceInDollars =
  | { readonly kind: 'priced'; readonly usdAmount: string; readonly price: InvoicePrice }
  | { readonly kind: 'refused'; readonly code: 'parameter_invalid' | 'amount_too_small' | 'amount_too_large' }
  | { readonly kind: 'rate_unavailable'; readonly currency: Currency }

/**
 * The same price as it is stored and compared: with all the decimals of its currency. Null where it has more than
 * those, or is no amount at all.
 */
export function wholePrice({ amount, currency }: CurrencyAmount): CurrencyAmount | null {
  const decimals = currencyDecimals(currency)
  const units = parseFiat(amount, decimals)
  return units === null ? null : { amount: formatFiat(units, decimals), currency }
}

/**
 * A price in a shop's currency as the dollars that the invoice asks for, rounded **up** to the cent, once. The amount
 * may have no more decimals than its currency, and its dollars are what any invoice may ask for.
 */
export function priceInDollars(
  { amount, currency }: CurrencyAmount,
  rateOf: (currency: Currency) => CurrencyQuote | null,
): PriceInDollars {
  const decimals = currencyDecimals(currency)
  const units = parseFiat(amount, decimals)
  if (units === null) return { kind: 'refused', code: 'parameter_invalid' }
  const quote = rateOf(currency)
  if (quote === null) return { kind: 'rate_unavailable', currency }
  const cents = usdCentsFor(units, quote.rate, decimals)
  if (cents < USD_CENTS_MIN) return { kind: 'refused', code: 'amount_too_small' }
  if (cents > USD_CENTS_MAX) return { kind: 'refused', code: 'amount_too_large' }
  return {
    kind: 'priced',
    usdAmount: formatUsd(cents),
    price: { amount: formatFiat(units, decimals), currency, rate: quote.evidence },
  }
}
