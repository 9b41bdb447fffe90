import { ASSETS, type AssetId, keyspaceOf, networkOf } from '../../core/assets.ts'
import type { AssetSupport } from '../../core/invoice/plan.ts'
import { formatCoinAmount } from '../../core/money.ts'
import { acceptedAssets, defaultAsset, minimumOf, WINDOW_MINUTES } from '../../core/payment-rules.ts'
import { findPoolsWithAddresses } from '../../db/queries/address-availability.ts'
import { assetList } from '../../wire/account.ts'
import { priceIn, supportIn } from '../invoice-support.ts'
import { listView } from '../list-view.ts'
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

  handler: async (deps, { tenant: { livemode, ...tenant } }) => {
    const [rules, networks, pools] = await Promise.all([
      deps.rulesOf({ livemode, ...tenant }),
      deps.networks.read(),
      findPoolsWithAddresses(deps.pool),
    ])
    const supportOf = supportIn(networks, livemode)
    const priceOf = priceIn(deps, livemode)
    const isConfigured = (asset: AssetId) => supportOf(asset).parameters !== null
    const accepted = acceptedAssets(rules, livemode, isConfigured)
    const chosen = defaultAsset(rules, accepted, isConfigured)
    const data = accepted.map((asset) => {
      const { name, symbol, networkName, decimals } = ASSETS[asset]
      const support = supportOf(asset)
      const hasAddress = pools.has(`${keyspaceOf(asset, livemode)}/${support.parameters}`)
      const network = networks.stateOf(networkOf(asset, livemode))
      const fault = faultOf(support, hasAddress, priceOf(asset) !== null)
      return {
        asset,
        object: 'asset' as const,
        livemode,
        name,
        symbol,
        network: networkName,
        decimals,
        minimum: formatCoinAmount(minimumOf(rules, asset), decimals),
        is_default: asset === chosen,
        payment_window_minutes: rules.windowMinutes,
        payment_windows: [...WINDOW_MINUTES],
        available: fault === null,
        unavailable_code: fault?.code ?? null,
        unavailable_reason: fault?.reason ?? null,
        network_status: network?.status ?? null,
        network_reason: network?.reason ?? null,
      }
    })
    return listView('/assets', false, data)
  },
})

type Fault = { readonly code: 'asset_unavailable' | 'rate_unavailable'; readonly reason: string }

/** Why an invoice in dollars could not be made now, in the order in which creating one would find out. */
function faultOf(support: AssetSupport, hasAddress: boolean, hasPrice: boolean): Fault | null {
  const assetFault = (reason: string): Fault => ({ code: 'asset_unavailable', reason })
  if (support.parameters === null) return assetFault('No node of its network is connected in this mode.')
  if (support.halted) return assetFault('Its network is halted: the operator must look at the node.')
  if (!hasPrice) return { code: 'rate_unavailable', reason: 'There is no trustworthy price at the moment.' }
  return hasAddress ? null : assetFault('No deposit address is ready; more are being derived.')
}
