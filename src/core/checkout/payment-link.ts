import type { AssetId } from '../assets.ts'
import { acceptedIn, type Market } from '../invoice/market.ts'
import { priceInDollars, wholePrice } from '../invoice/price.ts'
import { type AmountFault, quoteInvoice, USD_CENTS_MAX, USD_CENTS_MIN } from '../invoice/quote.ts'
import type { CurrencyAmount } from '../invoice/types.ts'
import { formatUsd, parseUsd } from '../money.ts'
import type { PaymentRules } from '../payment-rules.ts'
import { CURRENCIES } from '../rates/currencies.ts'
import { type BuyerAmount, beyondLimit, type Charge } from './buyer-amount.ts'
import type { Till } from './till.ts'

/** A reusable page at which buyers pay. */
export type PaymentLink = {
  readonly merchantId: string
  readonly id: string
  readonly livemode: boolean
  readonly slug: string
  readonly name: string
  /** US cents charged where a checkout gives no amount. Without `allowDynamicAmount` either these or `price`. */
  readonly usdCents: bigint | null
  /** The same in another currency: dollars at the rate of the moment at which a buyer continues. */
  readonly price: CurrencyAmount | null
  /** Null: the merchant's default coin of the moment. */
  readonly asset: AssetId | null
  readonly allowDynamicAmount: boolean
  /** What buyers may pay who say how much; null: anything, in dollars. */
  readonly buyerAmount: BuyerAmount | null
  /** Where staff take payments at the link: buyers then open their own invoice's page, and never the link's. */
  readonly till: Till | null
  /** Null: the merchant's default payment window of the moment. */
  readonly durationMinutes: number | null
  readonly active: boolean
  readonly createdAtMs: number
}

/** What a buyer sees a link by: ten characters (spec §2.2), of which a cell's tag takes three, `pl_03-aB3xY9z`. */
export const SLUG_PATTERN = /^pl_(?:[0-9A-Za-z]{10}|([0-9a-z]{2})-[0-9A-Za-z]{7})$/

/** Why a link cannot charge what its URL says. */
export type BadAmountReason = 'missing' | 'not_allowed' | 'invalid' | 'too_small' | 'too_large'

/** The amount in a buyer's URL, as it stands there: `usd`, or `amount` with `currency`. */
export type RequestedCharge = {
  readonly usd?: string | undefined
  readonly amount?: string | undefined
  readonly currency?: string | undefined
}

export const namesCharge = ({ usd, amount, currency }: RequestedCharge): boolean =>
  usd !== undefined || amount !== undefined || currency !== undefined

type LinkCharge =
  | {
      readonly kind: 'charge'
      readonly charge: Charge
      /** Null while its currency has no rate. */
      readonly usdCents: bigint | null
      readonly amountSource: 'merchant' | 'buyer'
    }
  | { readonly kind: 'bad_amount'; readonly reason: BadAmountReason }

export const dollars = (usdCents: bigint): Charge => ({ kind: 'usd', usdAmount: formatUsd(usdCents) })

/** What a link charges by itself; null where each checkout says so. */
export function ownCharge({ usdCents, price }: Pick<PaymentLink, 'usdCents' | 'price'>): Charge | null {
  if (price !== null) return { kind: 'price', price }
  return usdCents === null ? null : dollars(usdCents)
}

/**
 * What a plain link charges: the amount that the buyer's URL names, where the link takes one, and its own
 * otherwise. An amount that the link does not take is refused and not passed over: who put it there expects it.
 */
export function chargeOf(
  link: PaymentLink,
  requested: RequestedCharge,
  rateOf: Market['currencyRateOf'],
): LinkCharge {
  const bad = (reason: BadAmountReason) => ({ kind: 'bad_amount', reason }) as const
  const isNamed = namesCharge(requested)
  if (isNamed && !link.allowDynamicAmount) return bad('not_allowed')
  const charge = isNamed ? chargeNamed(requested) : ownCharge(link)
  if (charge === null) return bad(isNamed ? 'invalid' : 'missing')
  const limit = isNamed && link.buyerAmount !== null ? beyondLimit(charge, link.buyerAmount, rateOf) : null
  if (limit !== null) return bad(limit)
  const cents = centsOf(charge, rateOf)
  // A price of the merchant's own that leaves the limits as rates move has no coin to be paid in: the page says so.
  if (typeof cents === 'string' && isNamed) return bad(cents)
  const usdCents = typeof cents === 'bigint' ? cents : null
  return { kind: 'charge', charge, usdCents, amountSource: isNamed ? 'buyer' : 'merchant' }
}

function chargeNamed({ usd, amount, currency: named }: RequestedCharge): Charge | null {
  // A shop's plugin names the currency, whatever it is.
  if (usd === undefined && named === 'USD') return chargeNamed({ usd: amount ?? '' })
  if (usd !== undefined) {
    const isAlone = amount === undefined && named === undefined
    return isAlone && parseUsd(usd) !== null ? { kind: 'usd', usdAmount: usd } : null
  }
  const currency = CURRENCIES.find((each) => each === named)
  if (amount === undefined || currency === undefined) return null
  const price = wholePrice({ amount, currency })
  return price === null ? null : { kind: 'price', price }
}

/** A charge in US cents; null while its currency has no rate, or why it cannot be invoiced. */
function centsOf(
  charge: Charge,
  rateOf: Market['currencyRateOf'],
): bigint | 'invalid' | 'too_small' | 'too_large' | null {
  const fixed = charge.kind === 'usd' ? charge : priceInDollars(charge.price, rateOf)
  if (fixed.kind === 'rate_unavailable') return null
  if (fixed.kind === 'refused') return REASONS[fixed.code]
  const cents = parseUsd(fixed.usdAmount) ?? 0n
  if (cents < USD_CENTS_MIN) return 'too_small'
  return cents > USD_CENTS_MAX ? 'too_large' : cents
}

const REASONS = {
  parameter_invalid: 'invalid',
  amount_too_small: 'too_small',
  amount_too_large: 'too_large',
} as const

/** The payment window in minutes: the session's own, then the link's, then the merchant's (spec §8). */
export function windowMinutesOf(
  link: Pick<PaymentLink, 'durationMinutes'>,
  rules: Pick<PaymentRules, 'windowMinutes'>,
  requestedMinutes: number | null = null,
): number {
  return requestedMinutes ?? link.durationMinutes ?? rules.windowMinutes
}

/** Why a total cannot be asked for in a coin. */
export type TotalFault = {
  readonly code: 'asset_not_accepted' | 'amount_too_small' | 'amount_too_large' | 'rate_unavailable'
  readonly param: 'asset' | 'usd_amount' | 'price.amount' | 'price.currency'
}

/**
 * What is wrong with a total in a link's coin (spec §8): the coin must be accepted, the total within
 * the limits and worth the coin's minimum at the price of the moment. No node and no address is needed yet.
 */
export function totalFault(
  total: { readonly charge: Charge | null; readonly asset: AssetId | null },
  market: Market,
  nowMs: number,
): TotalFault | null {
  const { accepted, chosen } = acceptedIn(market)
  const asset = total.asset ?? chosen
  if (asset === null || !accepted.includes(asset)) return { code: 'asset_not_accepted', param: 'asset' }
  const { charge } = total
  if (charge === null) return null
  const param = charge.kind === 'price' ? 'price.amount' : 'usd_amount'
  const fixed = charge.kind === 'usd' ? charge : priceInDollars(charge.price, market.currencyRateOf)
  if (fixed.kind === 'rate_unavailable') return { code: 'rate_unavailable', param: 'price.currency' }
  if (fixed.kind === 'refused') return faultOf(fixed.code, param)
  const quote = quoteInvoice(
    { kind: 'usd', usdAmount: fixed.usdAmount },
    {
      asset,
      rules: market.rules,
      price: market.priceOf(asset),
      parameters: '',
      nowMs,
      chainMinimum: market.supportOf(asset).chainMinimum ?? null,
    },
  )
  if (quote.kind === 'quoted') return null
  if (quote.kind === 'rate_unavailable') return { code: 'rate_unavailable', param: 'asset' }
  return faultOf(quote.code, param)
}

function faultOf(code: AmountFault, param: TotalFault['param']): TotalFault {
  if (code === 'parameter_invalid') throw new Error('the amount was read before')
  return { code, param }
}
