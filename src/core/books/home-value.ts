import { COINS, type PaymentAsset } from '../assets.ts'
import type { InvoicePrice, RateEvidence, TokenRates } from '../invoice/types.ts'
import { dollarsDue } from '../invoice/value.ts'
import { fiatForUsd, formatFiat, parseFiat, parsePrice, shareOf, usdValueOf } from '../money.ts'
import { type Currency, currencyDecimals } from '../rates/currencies.ts'

/** What a line can be valued by in the shop's own currency. */
export type HomeTerms = {
  readonly currency: Currency
  /** The rate that was kept on the line's day (UTC); null where none was. */
  readonly rateOfDay: RateEvidence | null
  /** The line's invoice, where it has a price in some currency. */
  readonly invoice: {
    /** What is asked for: one coin, or one token on each of its networks. */
    readonly assets: readonly PaymentAsset[]
    readonly amount: bigint
    readonly coinRate: RateEvidence
    readonly price: InvoicePrice
    /** Where dollars of any issuer are asked for: how much, and at what each token counts. */
    readonly dollars: { readonly usdCents: bigint; readonly tokenRates: TokenRates } | null
  } | null
}

/** What a line was worth in the shop's own currency then. */
export type HomeValue = {
  readonly currency: Currency
  /** Decimal string, never below zero; null where the dollars or the rate of that day are not known. */
  readonly amount: string | null
  /** Dollars per unit of the currency; null where none was kept for that day. */
  readonly rate: RateEvidence | null
}

/**
 * Money that came at its invoice's own terms is its share of the invoice's price, at the rate that was promised: who paid
 * what was asked for paid that price to the cent. Everything else is its dollars at the rate of its day, to the nearest
 * cent. Today's rate stands in for none.
 */
export function homeValueOf(
  line: { readonly asset: PaymentAsset; readonly amount: bigint; readonly usdCents: bigint | null },
  { currency, rateOfDay, invoice }: HomeTerms,
): HomeValue {
  const decimals = currencyDecimals(currency)
  const { asset, amount, usdCents } = line
  if (invoice !== null && invoice.price.currency === currency && isAtTermsOf(invoice, line)) {
    const [part, of] = partOf(invoice, line)
    const units = shareOf(parseFiat(invoice.price.amount, decimals) ?? 0n, part, of)
    return { currency, amount: formatFiat(units, decimals), rate: invoice.price.rate }
  }
  const rate = rateOfDay === null ? null : parsePrice(rateOfDay.usdPerUnit)
  if (rate === null) return { currency, amount: null, rate: null }
  const value = usdCents === null ? null : formatFiat(fiatForUsd(usdCents, rate, decimals), decimals)
  return { currency, amount: value, rate: rateOfDay }

  /** Dollars are rounded down where a line is a share of another, so that a cent tells nothing. */
  function isAtTermsOf(invoice: NonNullable<HomeTerms['invoice']>, { usdCents }: typeof line) {
    const { assets } = invoice
    const price = rateIn(invoice, asset)
    if (!assets.includes(asset) || price === null || usdCents === null) return false
    const difference = usdValueOf(amount, price, COINS[asset].decimals) - usdCents
    return difference === 0n || difference === 1n
  }
}

/** The locked rate at which an asset counts, 10⁻¹² dollar. */
const rateIn = ({ coinRate, dollars }: NonNullable<HomeTerms['invoice']>, asset: PaymentAsset) =>
  parsePrice((dollars?.tokenRates[COINS[asset].symbol] ?? coinRate).usdPerUnit)

/** What a line is of what was asked for: of one coin by its units, of dollars by its worth. */
function partOf(
  invoice: NonNullable<HomeTerms['invoice']>,
  { asset, amount }: { readonly asset: PaymentAsset; readonly amount: bigint },
): readonly [part: bigint, of: bigint] {
  const { dollars } = invoice
  if (dollars === null) return [amount, invoice.amount]
  return [amount * (rateIn(invoice, asset) ?? 0n), dollarsDue(dollars.usdCents, COINS[asset].decimals)]
}
