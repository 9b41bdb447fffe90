import { testAddressOf } from '../../../chain/test-address.ts'
import { ASSET_IDS, ASSETS, networkOf } from '../../../core/assets.ts'
import { acceptedIn, assetFault, supportIn } from '../../../core/invoice/market.ts'
import { formatCoinAmount } from '../../../core/money.ts'
import { acceptedAssets, minimumOf, WINDOW_MINUTES } from '../../../core/payment-rules.ts'
import { assetList, rateList } from '../../../wire/account.ts'
import { listView } from '../../views/list-view.ts'
import { networkReason } from '../../views/network-reason.ts'
import { defineRoute } from '../route.ts'

export const listAssetsRoute = defineRoute({
  method: 'get',
  path: '/assets',
  operationId: 'listAssets',
  tag: 'Assets and rates',
  summary: 'List accepted assets',
  description:
    'The coins you accept in the mode of the key, with their limits, and whether each can be used now.',
  scope: null,
  success: { status: 200, description: 'The accepted assets.', schema: assetList },
  problems: [],

  handler: async (deps, { tenant }) => {
    const [market, networks] = await Promise.all([deps.marketOf(tenant), deps.networks.read()])
    const { livemode } = tenant
    const { accepted, chosen } = acceptedIn(market)
    const data = accepted.map((asset) => {
      const { name, symbol, networkName, decimals } = ASSETS[asset]
      const network = networks.stateOf(networkOf(asset, livemode))
      const fault = assetFault(market, asset)
      return {
        asset,
        object: 'asset' as const,
        livemode,
        name,
        symbol,
        network: networkName,
        decimals,
        minimum: formatCoinAmount(minimumOf(market.rules, asset, network?.minimum ?? null), decimals),
        is_default: asset === chosen,
        payment_window_minutes: market.rules.windowMinutes,
        payment_windows: [...WINDOW_MINUTES],
        available: fault === null,
        unavailable_code: fault?.code ?? null,
        unavailable_reason: fault?.reason ?? null,
        network_status: network?.status ?? null,
        network_reason: network === null ? null : networkReason(network),
        test_address: deps.sandbox?.serves(asset, livemode) === true ? testAddressOf(asset) : null,
      }
    })
    return listView('/assets', false, data)
  },
})

export const listRatesRoute = defineRoute({
  method: 'get',
  path: '/rates',
  operationId: 'listRates',
  tag: 'Assets and rates',
  summary: 'List prices',
  description:
    'The price at which an invoice created now would be computed, for each coin: those you accept first, then those that you may still hold.',
  scope: null,
  success: { status: 200, description: 'A price for each asset.', schema: rateList },
  problems: [],

  handler: async (deps, { tenant }) => {
    const { livemode } = tenant
    const [rules, networks] = await Promise.all([deps.rulesOf(tenant), deps.networks.read()])
    const supportOf = supportIn(networks, livemode)
    const accepted = acceptedAssets(rules, livemode, (asset) => supportOf(asset).isConfigured)
    const data = [...new Set([...accepted, ...ASSET_IDS])].map((asset) => {
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
