import type { Network } from '../../core/assets.ts'
import { type Market, priceIn, supportIn } from '../../core/invoice/market.ts'
import { depositPlan } from '../../core/invoice/plan.ts'
import type { PaymentRules } from '../../core/payment-rules.ts'
import { findNetworksWithAddresses } from '../../db/addresses/address-availability.ts'
import type { Pool } from '../../postgres/pool.ts'
import type { Tenant } from '../../postgres/transaction.ts'
import type { CurrencyRates } from '../../rates/currency-rates.ts'
import type { PriceBook } from '../../rates/price-book.ts'
import type { NetworkStates } from './network-states.ts'
import { createRulesCache } from './rules-cache.ts'
import { createShortCache } from './short-cache.ts'

/** What a merchant can sell for now: read together, at most half a second old, the prices those of the moment. */
export type MarketOf = (tenant: Tenant) => Promise<Market>

export function createMarketReader(deps: {
  readonly pool: Pool
  readonly prices: Pick<PriceBook, 'quote'>
  readonly currencyRates: Pick<CurrencyRates, 'quote'>
  readonly networks: NetworkStates
  readonly elapsedMs?: () => number
  /** Where the caller has a cache of its own. */
  readonly rulesOf?: (tenant: Tenant) => Promise<PaymentRules>
}): MarketOf {
  const { pool, prices, currencyRates, networks, elapsedMs = () => performance.now() } = deps
  const rulesOf = deps.rulesOf ?? createRulesCache(pool, elapsedMs)
  const stocks = createShortCache<ReadonlyMap<Network, string>>({
    load: () => findNetworksWithAddresses(pool),
    keep: () => true,
    elapsedMs,
  })
  return async (tenant) => {
    const { livemode } = tenant
    const [rules, view, stock] = await Promise.all([rulesOf(tenant), networks.read(), stocks.get('all')])
    const supportOf = supportIn(view, livemode)
    return {
      livemode,
      rules,
      supportOf,
      priceOf: priceIn(prices, livemode),
      currencyRateOf: (currency) => currencyRates.quote(currency, livemode),
      hasAddressFor: (asset) => {
        const { network, form } = depositPlan(asset, livemode, supportOf(asset).parameters ?? '')
        return stock.get(network) === form
      },
      networkFacts: view.networkFacts,
    }
  }
}
