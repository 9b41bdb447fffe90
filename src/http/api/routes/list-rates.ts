import { supportIn } from '../../../core/invoice/market.ts'
import { acceptedAssets } from '../../../core/payment-rules.ts'
import { rateList } from '../../../wire/account.ts'
import { listView } from '../../views/list-view.ts'
import { defineRoute } from '../route.ts'

export const listRatesRoute = defineRoute({
  method: 'get',
  path: '/rates',
  operationId: 'listRates',
  tag: 'Assets and rates',
  summary: 'List prices',
  description: 'The price at which an invoice created now would be computed, for each coin you accept.',
  scope: null,
  success: { status: 200, description: 'A price for each accepted asset.', schema: rateList },
  problems: [],

  handler: async (deps, { tenant }) => {
    const { livemode } = tenant
    const [rules, networks] = await Promise.all([deps.rulesOf(tenant), deps.networks.read()])
    const supportOf = supportIn(networks, livemode)
    const accepted = acceptedAssets(rules, livemode, (asset) => supportOf(asset).isConfigured)
    const data = accepted.map((asset) => {
      const quote = deps.prices.quote(asset, livemode)
      const evidence = quote.kind === 'quote' ? quote.evidence : null
      return {
        asset,
        object: 'rate' as const,
        livemode,
        available: evidence !== null,
        usd_per_unit: evidence?.usdPerUnit ?? null,
        quoted_at: evidence?.quotedAt ?? null,
        sources: (evidence?.sources ?? []).map(({ name, usdPerUnit, at }) => ({
          name,
          usd_per_unit: usdPerUnit,
          at,
        })),
        unavailable_reason: quote.kind === 'unavailable' ? quote.reason : null,
      }
    })
    return listView('/rates', false, data)
  },
})
