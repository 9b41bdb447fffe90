import { ASSETS_BY_COIN } from '../asset-order.ts'
import { ASSETS, type AssetId } from '../assets.ts'
import { acceptedIn, assetFault, type Market } from '../invoice/market.ts'
import { planInvoice, startingAsset } from '../invoice/plan.ts'
import { isTokenSymbol, siblingsOf } from '../token-symbols.ts'
import type { Charge } from './buyer-amount.ts'

/** Why a coin cannot be chosen at the moment. */
export type CoinFault = 'asset_unavailable' | 'rate_unavailable' | 'amount_too_small' | 'amount_too_large'

/** No invoice in this coin now. */
export type AssetRefused = {
  readonly kind: 'asset_unavailable'
  readonly reason: CoinFault | 'asset_not_accepted'
}

/** One card of the coin choice. What is wrong with one coin disables its card alone. */
export type CoinOffer = {
  readonly asset: AssetId
  /** The same token on other networks, which counts as well. */
  readonly alsoAccepts: readonly AssetId[]
  readonly available: boolean
  readonly reason: CoinFault | null
  /** Base units at the price of the moment; null where nothing can be said. */
  readonly amount: bigint | null
}

/** The accepted coins for a total, the networks of one coin beside each other, and the one to begin with. */
export function coinOffers(
  market: Market,
  charge: Charge,
  wanted: AssetId | null,
  nowMs: number,
): { coins: readonly CoinOffer[]; defaultAsset: AssetId | null } {
  const { accepted, chosen } = acceptedIn(market)
  const isOffered = (asset: AssetId) =>
    accepted.includes(asset) &&
    (!market.rules.anyNetwork || cardOf(asset, wanted, accepted, market) === asset)
  const coins = ASSETS_BY_COIN.filter(isOffered).map((asset) => offerOf(market, charge, asset, nowMs))
  return { coins, defaultAsset: wanted !== null && accepted.includes(wanted) ? wanted : chosen }
}

/** Where one invoice takes a token on all of its networks, it has one card: the wanted asset, or the cheapest. */
function cardOf(
  asset: AssetId,
  wanted: AssetId | null,
  accepted: readonly AssetId[],
  market: Market,
): AssetId | null {
  if (siblingsOf(asset).length === 0) return asset
  const { symbol } = ASSETS[asset]
  if (wanted !== null && accepted.includes(wanted) && ASSETS[wanted].symbol === symbol) return wanted
  return isTokenSymbol(symbol) ? startingAsset(symbol, accepted, market) : asset
}

function offerOf(market: Market, charge: Charge, asset: AssetId, nowMs: number): CoinOffer {
  const refused = (reason: CoinFault): CoinOffer => ({
    asset,
    alsoAccepts: [],
    available: false,
    reason,
    amount: null,
  })
  const plan = planInvoice({ ...charge, asset }, { ...market, nowMs })
  if (plan.kind === 'unavailable') return refused(plan.code)
  if (plan.kind === 'refused') {
    return refused(plan.code === 'amount_too_large' ? plan.code : 'amount_too_small')
  }
  const fault = assetFault(market, asset)
  const { alsoAccepts, amount } = plan.terms
  return { asset, alsoAccepts, available: fault === null, reason: fault?.code ?? null, amount }
}
