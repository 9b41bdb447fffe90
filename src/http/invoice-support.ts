import { type AssetId, networkOf } from '../core/assets.ts'
import type { AssetSupport } from '../core/invoice/plan.ts'
import type { Price } from '../core/invoice/quote.ts'
import { type InvoiceView, renderInvoice } from '../core/invoice/render.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { invoiceToken } from '../secrets/checkout-token.ts'
import type { ApiDeps } from './deps.ts'
import type { NetworkView } from './network-board.ts'

/** What this server can do for an asset, by what its watcher wrote of the network. */
export function supportIn(networks: NetworkView, livemode: boolean): (asset: AssetId) => AssetSupport {
  return (asset) => {
    const state = networks.stateOf(networkOf(asset, livemode))
    return { parameters: state?.parameters ?? null, halted: state?.status === 'halted' }
  }
}

/** The price of an asset now, or null. Reads memory only. */
export function priceIn(deps: Pick<ApiDeps, 'prices'>, livemode: boolean): (asset: AssetId) => Price | null {
  return (asset) => {
    const quote = deps.prices.quote(asset, livemode)
    return quote.kind === 'quote' ? quote : null
  }
}

/** An invoice as the API shows it, with the secret link for its buyer. */
export function invoiceViewOf(
  deps: Pick<ApiDeps, 'baseUrl' | 'keyring'>,
  networks: NetworkView,
  invoice: Invoice,
): InvoiceView {
  const { merchantId, livemode, id: invoiceId } = invoice
  const checkoutUrl = `${deps.baseUrl}/i/${invoiceToken(deps.keyring, { merchantId, livemode, invoiceId })}`
  return renderInvoice(invoice, networks.tipHeightOf, checkoutUrl)
}
