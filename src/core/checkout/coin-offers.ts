import { ASSETS_BY_COIN } from '../asset-order.ts'
import type { AssetId } from '../assets.ts'
import { acceptedIn, assetFault, type Market } from '../invoice/market.ts'
import { planInvoice } from '../invoice/plan.ts'
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
  const coins = ASSETS_BY_COIN.filter((asset) => accepted.includes(asset)).map((asset) =>
    offerOf(market, charge, asset, nowMs),
  )
  return { coins, defaultAsset: wanted !== null && accepted.includes(wanted) ? wanted : chosen }
}

function offerOf(market: Market, charge: Charge, asset: AssetId, nowMs: number): CoinOffer {
  const refused = (reason: CoinFault): CoinOffer => ({ asset, available: false, reason, amount: null })
  const plan = planInvoice({ ...charge, asset }, { ...market, nowMs })
  if (plan.kind === 'unavailable') return refused(plan.code)
  if (plan.kind === 'refused') {
    return refused(plan.code === 'amount_too_large' ? plan.code : 'amount_too_small')
  }
  const fault = assetFault(market, asset)
  return { asset, available: fault === null, reason: fault?.code ?? null, amount: plan.terms.amount }
}
