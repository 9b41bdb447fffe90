import type { AssetId } from '../assets.ts'
import { USD_CENTS_MAX, USD_CENTS_MIN } from '../invoice/quote.ts'
import { parseUsd } from '../money.ts'
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

export type LinkCharge =
  | { readonly kind: 'charge'; readonly usdCents: bigint; readonly amountSource: 'merchant' | 'buyer' }
  | { readonly kind: 'bad_amount'; readonly reason: BadAmountReason }

/**
 * What a plain link charges: the amount that the buyer's URL names, where the link takes one, and its own
 * otherwise. An amount that the link does not take is refused and not passed over: who put it there expects it.
 */
export function chargeOf(link: PaymentLink, asked: string | undefined): LinkCharge {
  if (asked === undefined) {
    if (link.usdCents === null) return { kind: 'bad_amount', reason: 'missing' }
    return { kind: 'charge', usdCents: link.usdCents, amountSource: 'merchant' }
  }
  if (!link.allowDynamicAmount) return { kind: 'bad_amount', reason: 'not_allowed' }
  const usdCents = parseUsd(asked)
  if (usdCents === null) return { kind: 'bad_amount', reason: 'invalid' }
  if (usdCents < USD_CENTS_MIN) return { kind: 'bad_amount', reason: 'too_small' }
  if (usdCents > USD_CENTS_MAX) return { kind: 'bad_amount', reason: 'too_large' }
  return { kind: 'charge', usdCents, amountSource: 'buyer' }
}

/** The payment window in minutes: the session's own, then the link's, then the merchant's (spec §8). */
export function windowMinutesOf(
  link: Pick<PaymentLink, 'durationMinutes'>,
  rules: Pick<PaymentRules, 'windowMinutes'>,
  askedMinutes: number | null = null,
): number {
  return askedMinutes ?? link.durationMinutes ?? rules.windowMinutes
}
