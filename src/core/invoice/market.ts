import { type AssetId, isToken, type Network, networkOf } from '../assets.ts'
import { contractOf } from '../checkout/payment-uri.ts'
import { acceptedAssets, defaultAsset, type PaymentRules } from '../payment-rules.ts'
import type { Currency } from '../rates/currencies.ts'
import { type AssetSupport, isMinimumMissing } from './plan.ts'
import type { CurrencyQuote } from './price.ts'
import type { Price } from './quote.ts'
import type { NetworkFacts } from './render.ts'
import type { RateEvidence } from './types.ts'

/** What one merchant can sell for in one mode at this moment. */
export type Market = {
  readonly livemode: boolean
  readonly rules: PaymentRules
  readonly supportOf: (asset: AssetId) => AssetSupport
  readonly priceOf: (asset: AssetId) => Price | null
  readonly currencyRateOf: (currency: Currency) => CurrencyQuote | null
  /** Whether the asset's address pool had an address left. */
  readonly hasAddressFor: (asset: AssetId) => boolean
  readonly networkFacts: NetworkFacts
}

/** What the watcher last recorded of a network, as far as selling depends on it. */
type NetworkState = {
  readonly parameters: string | null
  readonly status: string
  readonly isStalled: boolean
  readonly isWatched: boolean
  readonly minimum: bigint | null
}

/** What this server can do for an asset, according to what the watcher recorded of its network. */
export function supportIn(
  networks: { stateOf(network: Network): NetworkState | null; readonly networkFacts?: NetworkFacts },
  livemode: boolean,
): (asset: AssetId) => AssetSupport {
  return (asset) => {
    const network = networkOf(asset, livemode)
    const state = networks.stateOf(network)
    const lacksContract =
      isToken(asset) && contractOf(asset, livemode, networks.networkFacts?.identityOf?.(network)) === null
    // A payment on a network that nobody follows any more would never be seen.
    const isConfigured = state?.isWatched === true
    const parameters = isConfigured && !lacksContract ? state.parameters : null
    return {
      isConfigured,
      parameters,
      lacksContract,
      halted: state?.status === 'halted' || state?.isStalled === true,
      chainMinimum: state?.minimum ?? null,
    }
  }
}

/** What a source of prices answers. */
type Quote =
  | { readonly kind: 'quote'; readonly price: bigint; readonly evidence: RateEvidence }
  | { readonly kind: 'unavailable' }

/** The price of an asset now, or null. Reads memory only. */
export function priceIn(
  prices: { quote(asset: AssetId, livemode: boolean): Quote },
  livemode: boolean,
): (asset: AssetId) => Price | null {
  return (asset) => {
    const quote = prices.quote(asset, livemode)
    return quote.kind === 'quote' ? quote : null
  }
}

/** The coins that the merchant accepts, and the one that is taken where nobody chose. */
export function acceptedIn(market: Pick<Market, 'livemode' | 'rules' | 'supportOf'>): {
  accepted: readonly AssetId[]
  chosen: AssetId | null
} {
  const isConfigured = (asset: AssetId) => market.supportOf(asset).isConfigured
  const accepted = acceptedAssets(market.rules, market.livemode, isConfigured)
  return { accepted, chosen: defaultAsset(market.rules, accepted, isConfigured) }
}

type AssetFault = { readonly code: 'asset_unavailable' | 'rate_unavailable'; readonly reason: string }

/**
 * Why a dollar invoice in this asset could not be created now; checked in the order in which creating one would fail.
 */
export function assetFault(market: Market, asset: AssetId): AssetFault | null {
  const support = market.supportOf(asset)
  const fault = (reason: string): AssetFault => ({ code: 'asset_unavailable', reason })
  if (support.lacksContract === true)
    return fault(
      'Its issuer has no contract on this test network: the operator can put a test token there and name it.',
    )
  if (support.parameters === null) return fault('No node of its network is connected in this mode.')
  if (support.halted)
    return fault(
      'Its network is halted, or was not read for ten minutes: the operator must look at the node.',
    )
  if (isMinimumMissing(asset, support.chainMinimum ?? null))
    return fault('The smallest amount that its network lets an address receive is not known yet.')
  if (market.priceOf(asset) === null)
    return { code: 'rate_unavailable', reason: 'There is no trustworthy price at the moment.' }
  return market.hasAddressFor(asset) ? null : fault('No deposit address is ready; more are being derived.')
}
