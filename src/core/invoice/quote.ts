import { ASSETS, type AssetId } from '../assets.ts'
import { coinAmountForUsd, PRICE_UNIT, parseCoinAmount, parseUsd, usdValueOf } from '../money.ts'
import { confirmationsFor, minimumOf, type PaymentRules, toleranceFor } from '../payment-rules.ts'
import type { ConfirmationsByAsset, RateEvidence, TokenRates } from './types.ts'

/** What may be invoiced in US dollars (spec §8), in cents. */
export const USD_CENTS_MIN = 50n
export const USD_CENTS_MAX = 10_000_000n
/**
 * Largest invoice with a fixed coin amount, in whole coins: more than was ever issued of any coin, and still small
 * for a bigint.
 */
const COINS_MAX = 1_000_000_000n

const MS_PER_MINUTE = 60_000

/** The merchant fixed either dollars or coins. */
export type RequestedAmount =
  | { readonly kind: 'usd'; readonly usdAmount: string }
  | { readonly kind: 'coin'; readonly amount: string }

export type AmountFault = 'parameter_invalid' | 'amount_too_small' | 'amount_too_large'

export type Price = { readonly price: bigint; readonly evidence: RateEvidence }

/** The terms of an invoice, fixed for its payment window. */
export type InvoiceTerms = {
  readonly asset: AssetId
  readonly alsoAccepts: readonly AssetId[]
  /** Base units. */
  readonly amount: bigint
  /** What the merchant asked for in US cents; null where coins were asked for. */
  readonly usdCents: bigint | null
  readonly rate: RateEvidence | null
  readonly tokenRates: TokenRates | null
  /** Base units; with `tokenRates` those of a token that is worth a dollar. */
  readonly toleranceUnder: bigint
  readonly toleranceOver: bigint
  readonly confirmations: ConfirmationsByAsset
  readonly createdAtMs: number
  readonly expiresAtMs: number
}

type InvoiceQuote =
  | { readonly kind: 'quoted'; readonly terms: InvoiceTerms }
  | { readonly kind: 'refused'; readonly code: AmountFault }
  | { readonly kind: 'rate_unavailable' }

/** What is wrong with an amount regardless of the price: its grammar, and its absolute limits. */
export function amountFault(
  requested: RequestedAmount,
  asset: AssetId,
  rules: PaymentRules,
  chainMinimum: bigint | null = null,
): AmountFault | null {
  if (requested.kind === 'usd') {
    const cents = parseUsd(requested.usdAmount)
    if (cents === null) return 'parameter_invalid'
    if (cents < USD_CENTS_MIN) return 'amount_too_small'
    return cents > USD_CENTS_MAX ? 'amount_too_large' : null
  }
  const { decimals } = ASSETS[asset]
  const units = parseCoinAmount(requested.amount, decimals)
  if (units === null) return 'parameter_invalid'
  if (units === 0n || units < minimumOf(rules, asset, chainMinimum)) return 'amount_too_small'
  return units > COINS_MAX * 10n ** BigInt(decimals) ? 'amount_too_large' : null
}

/**
 * The terms of an invoice created now. A dollar amount is rounded up to the coin's smallest unit, once. A coin amount
 * needs no price; if one is available it is kept as evidence and decides the confirmations.
 */
export function quoteInvoice(
  requested: RequestedAmount,
  context: {
    readonly asset: AssetId
    /** What may count as `asset` does. */
    readonly siblings?: readonly AssetId[]
    readonly rules: PaymentRules
    readonly price: Price | null
    /** Of every token that counts, by ticker, where dollars of any issuer are asked for. */
    readonly tokenPrices?: ReadonlyMap<string, Price> | null
    /** Of the asset's network. */
    readonly parameters: string
    /** The smallest amount that the chain itself lets an address receive; null where it sets none. */
    readonly chainMinimum?: bigint | null
    readonly nowMs: number
    /** In place of the end of the rules' payment window. */
    readonly expiresAtMs?: number
  },
): InvoiceQuote {
  const { asset, siblings = [], rules, price, tokenPrices = null, chainMinimum = null } = context
  const fault = amountFault(requested, asset, rules, chainMinimum)
  if (fault !== null) return { kind: 'refused', code: fault }
  if (price === null && requested.kind === 'usd') return { kind: 'rate_unavailable' }
  const sums = sumsOf(requested, asset, price?.price ?? null)
  if (sums.amount < minimumOf(rules, asset, chainMinimum))
    return { kind: 'refused', code: 'amount_too_small' }
  // What moving it would cost more than it is worth is not worth taking.
  const alsoAccepts = siblings.filter((sibling) => {
    const priced = tokenPrices?.get(ASSETS[sibling].symbol) ?? null
    return (
      sumsOf(requested, sibling, priced?.price ?? price?.price ?? null).amount >= minimumOf(rules, sibling)
    )
  })
  const confirmations = [asset, ...alsoAccepts].map((each) =>
    confirmationsFor(rules, each, sums.worthCents, context.parameters),
  )
  const tolerated = tokenPrices === null ? sums.amount : sumsOf(requested, asset, PRICE_UNIT).amount
  return {
    kind: 'quoted',
    terms: {
      asset,
      alsoAccepts,
      amount: sums.amount,
      usdCents: sums.requestedCents,
      rate: price?.evidence ?? null,
      tokenRates: tokenPrices === null ? null : ratesOf(tokenPrices, [asset, ...alsoAccepts]),
      toleranceUnder: toleranceFor(rules.toleranceUnder, tolerated, sums.worthCents),
      toleranceOver: toleranceFor(rules.toleranceOver, tolerated, sums.worthCents),
      confirmations: Object.assign({}, ...confirmations),
      createdAtMs: context.nowMs,
      expiresAtMs: context.expiresAtMs ?? context.nowMs + rules.windowMinutes * MS_PER_MINUTE,
    },
  }
}

function ratesOf(prices: ReadonlyMap<string, Price>, assets: readonly AssetId[]): TokenRates {
  const symbols = new Set<string>(assets.map((asset) => ASSETS[asset].symbol))
  return Object.fromEntries(
    [...prices].flatMap(([symbol, { evidence }]) => (symbols.has(symbol) ? [[symbol, evidence]] : [])),
  )
}

/** Base units to pay, cents asked for, and cents they are worth; null where there is no price. */
function sumsOf(requested: RequestedAmount, asset: AssetId, price: bigint | null) {
  const { decimals } = ASSETS[asset]
  if (requested.kind === 'usd' && price !== null) {
    const cents = parseUsd(requested.usdAmount) ?? 0n
    return { amount: coinAmountForUsd(cents, price, decimals), requestedCents: cents, worthCents: cents }
  }
  const amount = requested.kind === 'coin' ? (parseCoinAmount(requested.amount, decimals) ?? 0n) : 0n
  return {
    amount,
    requestedCents: null,
    worthCents: price === null ? null : usdValueOf(amount, price, decimals),
  }
}
