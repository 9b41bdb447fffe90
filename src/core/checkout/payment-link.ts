import type { AssetId } from '../assets.ts'
import { acceptedIn, type Market } from '../invoice/market.ts'
import { quoteInvoice, USD_CENTS_MAX, USD_CENTS_MIN } from '../invoice/quote.ts'
import { formatUsd, parseUsd } from '../money.ts'
import type { PaymentRules } from '../payment-rules.ts'

/** A reusable page at which buyers pay. */
export type PaymentLink = {
  readonly merchantId: string
  readonly id: string
  readonly livemode: boolean
  readonly slug: string
  readonly name: string
  /** US cents charged where a checkout gives no amount; never null without `allowDynamicAmount`. */
  readonly usdCents: bigint | null
  /** Null: the merchant's default coin of the moment. */
  readonly asset: AssetId | null
  readonly allowDynamicAmount: boolean
  /** Null: the merchant's default payment window of the moment. */
  readonly durationMinutes: number | null
  readonly active: boolean
  readonly createdAtMs: number
}

/** What a buyer sees a link by. */
export const SLUG_PATTERN = /^pl_[0-9A-Za-z]{10}$/

/** Why a link cannot charge what its URL says. */
export type BadAmountReason = 'missing' | 'not_allowed' | 'invalid' | 'too_small' | 'too_large'

type LinkCharge =
  | { readonly kind: 'charge'; readonly usdCents: bigint; readonly amountSource: 'merchant' | 'buyer' }
  | { readonly kind: 'bad_amount'; readonly reason: BadAmountReason }

/**
 * What a plain link charges: the amount that the buyer's URL names, where the link takes one, and its own
 * otherwise. An amount that the link does not take is refused and not passed over: who put it there expects it.
 */
export function chargeOf(link: PaymentLink, requested: string | undefined): LinkCharge {
  if (requested === undefined) {
    if (link.usdCents === null) return { kind: 'bad_amount', reason: 'missing' }
    return { kind: 'charge', usdCents: link.usdCents, amountSource: 'merchant' }
  }
  if (!link.allowDynamicAmount) return { kind: 'bad_amount', reason: 'not_allowed' }
  const usdCents = parseUsd(requested)
  if (usdCents === null) return { kind: 'bad_amount', reason: 'invalid' }
  if (usdCents < USD_CENTS_MIN) return { kind: 'bad_amount', reason: 'too_small' }
  if (usdCents > USD_CENTS_MAX) return { kind: 'bad_amount', reason: 'too_large' }
  return { kind: 'charge', usdCents, amountSource: 'buyer' }
}

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
  readonly param: 'asset' | 'usd_amount'
}

/**
 * What is wrong with a total of US cents in a link's coin (spec §8): the coin must be accepted, the total within
 * the limits and worth the coin's minimum at the price of the moment. No node and no address is needed yet.
 */
export function totalFault(
  total: { readonly usdCents: bigint | null; readonly asset: AssetId | null },
  market: Market,
  nowMs: number,
): TotalFault | null {
  const { accepted, chosen } = acceptedIn(market)
  const asset = total.asset ?? chosen
  if (asset === null || !accepted.includes(asset)) return { code: 'asset_not_accepted', param: 'asset' }
  if (total.usdCents === null) return null
  const quote = quoteInvoice(
    { kind: 'usd', usdAmount: formatUsd(total.usdCents) },
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
  if (quote.code === 'parameter_invalid') throw new Error('cents are always a dollar amount')
  return { code: quote.code, param: 'usd_amount' }
}
