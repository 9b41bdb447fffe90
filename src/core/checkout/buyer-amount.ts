import type { Market } from '../invoice/market.ts'
import type { RequestedTotal } from '../invoice/plan.ts'
import { USD_CENTS_MAX, USD_CENTS_MIN } from '../invoice/quote.ts'
import type { CurrencyAmount } from '../invoice/types.ts'
import { formatFiat, parseFiat, parseUsd, usdCentsFor } from '../money.ts'
import { CURRENCIES, type Currency, currencyDecimals } from '../rates/currencies.ts'

/** A total in US dollars, or in another currency. */
export type Charge = Exclude<RequestedTotal, { kind: 'coin' }>

/** A page with more buttons than these is no help to choose. */
export const SUGGESTED_MAX = 6

/** What a link's buyers may pay where they say how much; amounts with all the decimals of their currency. */
export type BuyerAmount = {
  readonly currency: Currency | 'USD'
  readonly minimum: string | null
  readonly maximum: string | null
  readonly suggested: readonly string[]
}

export type BuyerAmountFault = {
  readonly param:
    | 'buyer_amount'
    | 'buyer_amount.currency'
    | 'buyer_amount.minimum'
    | 'buyer_amount.maximum'
    | 'buyer_amount.suggested'
    | 'till'
  readonly message: string
}

const unitsOf = (amount: string, currency: BuyerAmount['currency']): bigint | null =>
  parseFiat(amount, currencyDecimals(currency))

/** With all the decimals of its currency; null where it has more, or is no amount. */
export function wholeAmount(amount: string, currency: BuyerAmount['currency']): string | null {
  const units = unitsOf(amount, currency)
  return units === null ? null : formatFiat(units, currencyDecimals(currency))
}

/** What is wrong with a link's choice for its buyers, beside the amount that it charges by itself. */
export function buyerAmountFault(
  asked: BuyerAmount | null,
  link: { readonly allowDynamicAmount: boolean; readonly own: Charge | null },
): BuyerAmountFault | null {
  if (asked === null) return null
  if (!link.allowDynamicAmount)
    return { param: 'buyer_amount', message: 'Needs allow_dynamic_amount to be true.' }
  const { currency, minimum, maximum, suggested } = asked
  const { own } = link
  if (own !== null && currencyOf(own) !== currency) {
    const message = `Must be ${currencyOf(own)}, the currency of the link’s own amount.`
    return { param: 'buyer_amount.currency', message }
  }
  const bounds = { low: minimum, high: maximum }
  const least = currency === 'USD' ? USD_CENTS_MIN : 1n
  const most = currency === 'USD' ? USD_CENTS_MAX : null
  const isOutside = (amount: string, { low, high }: typeof bounds) => {
    const units = unitsOf(amount, currency)
    return (
      units === null ||
      units < least ||
      (most !== null && units > most) ||
      (low !== null && units < (unitsOf(low, currency) ?? 0n)) ||
      (high !== null && units > (unitsOf(high, currency) ?? 0n))
    )
  }
  const limits = currency === 'USD' ? 'Must be from 0.50 to 100000.00 dollars' : 'Must be more than zero'
  if (minimum !== null && isOutside(minimum, { low: null, high: null }))
    return { param: 'buyer_amount.minimum', message: `${limits}.` }
  if (maximum !== null && isOutside(maximum, { low: minimum, high: null }))
    return { param: 'buyer_amount.maximum', message: `${limits}, and not below the minimum.` }
  if (suggested.some((amount) => isOutside(amount, bounds)) || new Set(suggested).size < suggested.length) {
    const message = `${limits}, within the minimum and the maximum, and each once.`
    return { param: 'buyer_amount.suggested', message }
  }
  const ownAmount = own === null ? null : amountOf(own)
  if (ownAmount !== null && isOutside(ownAmount, bounds))
    return { param: 'buyer_amount', message: 'The link’s own amount is outside these limits.' }
  return null
}

const currencyOf = (charge: Charge): BuyerAmount['currency'] =>
  charge.kind === 'usd' ? 'USD' : charge.price.currency
const amountOf = (charge: Charge): string => (charge.kind === 'usd' ? charge.usdAmount : charge.price.amount)

/**
 * Which of a link's limits an amount that a buyer named is beyond. In the link's currency the amounts are compared, in
 * another one their dollars at the rate of the moment: a limit whose currency has none is not known to be kept. An amount
 * whose own has none cannot be paid anyway.
 */
export function beyondLimit(
  charge: Charge,
  { currency, minimum, maximum }: BuyerAmount,
  rateOf: Market['currencyRateOf'],
): 'too_small' | 'too_large' | null {
  const isSame = currencyOf(charge) === currency
  const sizeOf = (amount: string, of: BuyerAmount['currency']): bigint | null =>
    isSame ? unitsOf(amount, of) : centsOf(amount, of, rateOf)
  const value = sizeOf(amountOf(charge), currencyOf(charge))
  if (value === null) return null
  const isBeyond = (limit: string | null, isOver: (size: bigint) => boolean): boolean => {
    if (limit === null) return false
    const size = sizeOf(limit, currency)
    return size === null || isOver(size)
  }
  if (isBeyond(minimum, (low) => value < low)) return 'too_small'
  return isBeyond(maximum, (high) => value > high) ? 'too_large' : null
}

/** Also of what no invoice may ask for: a limit may be so much. */
function centsOf(
  amount: string,
  currency: BuyerAmount['currency'],
  rateOf: Market['currencyRateOf'],
): bigint | null {
  if (currency === 'USD') return parseUsd(amount)
  const [units, quote] = [unitsOf(amount, currency), rateOf(currency)]
  return units === null || quote === null ? null : usdCentsFor(units, quote.rate, currencyDecimals(currency))
}

/** A suggestion as the amount that a buyer's URL names. */
export const suggestedCharge = (
  amount: string,
  currency: BuyerAmount['currency'],
): { readonly usd: string } | CurrencyAmount => (currency === 'USD' ? { usd: amount } : { amount, currency })

/** As it is stored; null where something else stands in its place. */
export function buyerAmountOf(stored: unknown): BuyerAmount | null {
  if (typeof stored !== 'object' || stored === null) return null
  const {
    currency: named,
    minimum = null,
    maximum = null,
    suggested,
  }: Record<string, unknown> = { ...stored }
  const currency = named === 'USD' ? named : CURRENCIES.find((each) => each === named)
  if (currency === undefined || !Array.isArray(suggested)) return null
  const isAmount = (value: unknown) => typeof value === 'string' && unitsOf(value, currency) !== null
  const limits = [minimum, maximum].map((limit) => (typeof limit === 'string' ? limit : null))
  const all: unknown[] = [...limits.filter((limit) => limit !== null), ...suggested]
  if (!all.every(isAmount)) return null
  return {
    currency,
    minimum: limits[0] ?? null,
    maximum: limits[1] ?? null,
    suggested: suggested.map(String),
  }
}
