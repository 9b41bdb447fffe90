import {
  ASSETS,
  type AssetId,
  addressFormOf,
  type Keyspace,
  keyspaceOf,
  type Network,
  networkOf,
} from '../assets.ts'
import { acceptedAssets, defaultAsset, type PaymentRules } from '../payment-rules.ts'
import type { Currency } from '../rates/currencies.ts'
import {
  DOLLAR_TOKENS,
  DOLLARS,
  isTokenSymbol,
  payableBeside,
  type TokenSymbol,
  tokensNamed,
} from '../token-symbols.ts'
import { tokenPricesNow } from './dollars.ts'
import { type CurrencyQuote, priceInDollars } from './price.ts'
import {
  type AmountFault,
  amountFault,
  type InvoiceTerms,
  type Price,
  quoteInvoice,
  type RequestedAmount,
} from './quote.ts'
import type { CurrencyAmount, InvoicePrice } from './types.ts'

/** What this server can do for an asset in one mode. */
export type AssetSupport = {
  /** Whether its network is followed here, be its node away. */
  readonly isConfigured: boolean
  /** The chain's parameters as reported by its node; null if no node of this network has ever answered. */
  readonly parameters: string | null
  /** It is a token that has no contract there: nobody could pay it. */
  readonly lacksContract?: boolean
  /** Nothing on this network is credited until a person has looked: it contradicts itself or us, or was not read for long. */
  readonly halted: boolean
  /** The smallest amount the chain lets a new address receive, in base units; null if it was not read yet. */
  readonly chainMinimum?: bigint | null
}

/** Which pool an invoice's address comes from. */
export type DepositPlan = {
  readonly network: Network
  readonly keyspace: Keyspace
  /** As `addressFormOf` names it. */
  readonly form: string
}

export type InvoicePlan =
  | {
      readonly kind: 'planned'
      readonly terms: InvoiceTerms
      readonly deposit: DepositPlan
      /** The same of each other key family whose networks it also accepts: an address of its own for each. */
      readonly depositsBeside: readonly DepositPlan[]
      /** What its dollars were computed from; null where dollars or coins were asked for. */
      readonly price: InvoicePrice | null
    }
  /** The caller's mistake. */
  | { readonly kind: 'refused'; readonly code: AmountFault | 'asset_not_accepted'; readonly param: string }
  /** Nobody's mistake: try again, or another asset. */
  | {
      readonly kind: 'unavailable'
      readonly code: 'rate_unavailable' | 'asset_unavailable'
      readonly asset: AssetId
      /** Present where it is the price's currency that has no rate. */
      readonly currency?: Currency
      /** In words, where there is more to say. */
      readonly reason?: string
    }

/** The merchant fixed dollars or coins, or a price in another currency. */
export type RequestedTotal = RequestedAmount | { readonly kind: 'price'; readonly price: CurrencyAmount }

const PARAMS = { usd: 'usd_amount', coin: 'amount', price: 'price.amount' } as const

/**
 * What an invoice asks for: an asset; a token's ticker, payable on any of its networks that is accepted; or dollars, payable
 * in any issuer's on any of theirs.
 */
type RequestedAsset = AssetId | TokenSymbol | typeof DOLLARS

/**
 * Decides the coin and terms of a new invoice, or why there can be none; the caller's mistakes come first. The
 * network only has to be known, not healthy: a node's outage must not stop sales.
 */
export function planInvoice(
  total: RequestedTotal & {
    readonly asset: RequestedAsset | null
    /** Also where the rules do not say so for every invoice. */
    readonly onAnyNetwork?: boolean
  },
  context: {
    readonly livemode: boolean
    readonly rules: PaymentRules
    readonly supportOf: (asset: AssetId) => AssetSupport
    readonly priceOf: (asset: AssetId) => Price | null
    readonly currencyRateOf: (currency: Currency) => CurrencyQuote | null
    readonly nowMs: number
    /** In place of the end of the rules' payment window. */
    readonly expiresAtMs?: number
  },
): InvoicePlan {
  const { livemode, rules, supportOf } = context
  const accepted = acceptedAssets(rules, livemode, (candidate) => supportOf(candidate).isConfigured)
  const isInDollars = total.asset === DOLLARS
  const dollars = isInDollars ? tokenPricesNow(accepted, context) : null
  const asset = startingAsset(total.asset, accepted, { ...context, isTaken: dollars?.isTaken })
  if (asset === null || !accepted.includes(asset)) {
    return { kind: 'refused', code: 'asset_not_accepted', param: 'asset' }
  }
  const param = PARAMS[total.kind]
  const isNamedAlone = total.asset !== null && isTokenSymbol(total.asset)
  const isAnyNetwork = rules.anyNetwork || isNamedAlone || isInDollars || total.onAnyNetwork === true
  const isPayable = (candidate: AssetId) =>
    accepted.includes(candidate) &&
    isFollowed(supportOf(candidate)) &&
    (dollars === null || dollars.isTaken(candidate))
  if (isInDollars && total.kind === 'coin') return { kind: 'refused', code: 'parameter_invalid', param }
  const fixed = fixedAmount(total, context.currencyRateOf)
  if (fixed.kind === 'refused') return { kind: 'refused', code: fixed.code, param }
  if (fixed.kind === 'rate_unavailable')
    return { kind: 'unavailable', code: 'rate_unavailable', asset, currency: fixed.currency }
  const { requested, price: priced } = fixed
  const { parameters, halted, chainMinimum = null } = supportOf(asset)
  const fault = amountFault(requested, asset, rules, chainMinimum)
  if (fault !== null) return { kind: 'refused', code: fault, param }
  const price = dollars === null ? context.priceOf(asset) : dollars.priceOf(asset)
  const quote = quoteInvoice(requested, {
    asset,
    siblings: isAnyNetwork ? payableBeside(asset, isInDollars).filter(isPayable) : [],
    rules,
    price,
    tokenPrices: dollars?.prices ?? null,
    parameters: parameters ?? '',
    chainMinimum,
    nowMs: context.nowMs,
    ...(context.expiresAtMs === undefined ? {} : { expiresAtMs: context.expiresAtMs }),
  })
  if (quote.kind === 'refused') return { kind: 'refused', code: quote.code, param }
  if (parameters === null || halted || isMinimumMissing(asset, chainMinimum))
    return { kind: 'unavailable', code: 'asset_unavailable', asset }
  if (quote.kind === 'rate_unavailable')
    return {
      kind: 'unavailable',
      code: 'rate_unavailable',
      asset,
      ...(dollars === null ? {} : { reason: dollars.reason }),
    }
  const deposit = depositPlan(asset, livemode, parameters)
  const depositsBeside = depositPlansBeside(quote.terms, livemode, supportOf)
  return { kind: 'planned', terms: quote.terms, deposit, depositsBeside, price: priced }
}

const isFollowed = ({ parameters, halted }: AssetSupport): boolean => parameters !== null && !halted

/** Of tokens that are named without their network, the one that is cheapest to move of those that can be paid now. */
export function startingAsset(
  requested: RequestedAsset | null,
  accepted: readonly AssetId[],
  {
    rules,
    supportOf,
    isTaken = () => true,
  }: {
    readonly rules: PaymentRules
    readonly supportOf: (asset: AssetId) => AssetSupport
    /** Whether what it is worth lets it count. */
    readonly isTaken?: ((asset: AssetId) => boolean) | undefined
  },
): AssetId | null {
  if (requested === null) return defaultAsset(rules, accepted, (each) => supportOf(each).isConfigured)
  if (requested !== DOLLARS && !isTokenSymbol(requested)) return requested
  // The least that is invoiced in an asset follows from what moving it costs.
  const byCost = (requested === DOLLARS ? DOLLAR_TOKENS : tokensNamed(requested))
    .filter((each) => accepted.includes(each))
    .toSorted((a, b) => Number((ASSETS[a].minimum ?? 0n) - (ASSETS[b].minimum ?? 0n)))
  const followed = byCost.filter((each) => isFollowed(supportOf(each)))
  return followed.find(isTaken) ?? byCost.find(isTaken) ?? byCost[0] ?? null
}

/** The dollars or coins to ask for; of a price those that it is worth now. */
function fixedAmount(total: RequestedTotal, rateOf: (currency: Currency) => CurrencyQuote | null) {
  if (total.kind !== 'price') return { kind: 'fixed', requested: total, price: null } as const
  const dollars = priceInDollars(total.price, rateOf)
  if (dollars.kind !== 'priced') return dollars
  const requested = { kind: 'usd', usdAmount: dollars.usdAmount } as const
  return { kind: 'fixed', requested, price: dollars.price } as const
}

/** Whether the asset's minimum is set by its chain and was not read yet, so that no amount can be judged. */
export const isMinimumMissing = (asset: AssetId, chainMinimum: bigint | null): boolean =>
  ASSETS[asset].minimum === null && chainMinimum === null

/** Where addresses for an asset come from, on a chain with these parameters. */
export function depositPlan(asset: AssetId, livemode: boolean, parameters: string): DepositPlan {
  const keyspace = keyspaceOf(asset, livemode)
  return { network: networkOf(asset, livemode), keyspace, form: addressFormOf(keyspace, parameters) }
}

/** One for each key family other than the asset's own, on the first of its networks that counts. */
function depositPlansBeside(
  { asset, alsoAccepts }: InvoiceTerms,
  livemode: boolean,
  supportOf: (asset: AssetId) => AssetSupport,
): readonly DepositPlan[] {
  const plans = new Map<Keyspace, DepositPlan>()
  for (const each of alsoAccepts) {
    const { parameters } = supportOf(each)
    const plan = parameters === null ? null : depositPlan(each, livemode, parameters)
    if (plan !== null && plan.keyspace !== keyspaceOf(asset, livemode) && !plans.has(plan.keyspace))
      plans.set(plan.keyspace, plan)
  }
  return [...plans.values()]
}
