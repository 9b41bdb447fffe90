import { type InvoiceView, renderInvoice } from '../../core/invoice/render.ts'
import type { Invoice } from '../../core/invoice/types.ts'
import { invoiceToken } from '../../secrets/checkout-token.ts'
import type { ApiDeps } from '../api/deps.ts'
import type { NetworkView } from '../api/network-states.ts'

/** An invoice as the API shows it, with the secret link for its buyer. */
export function invoiceViewOf(
  deps: Pick<ApiDeps, 'baseUrl' | 'keyring'>,
  networks: NetworkView,
  invoice: Invoice,
): InvoiceView & { checkout_url: string } {
  const { merchantId, livemode, id: invoiceId } = invoice
  const token = invoiceToken(deps.keyring, { merchantId, livemode, invoiceId })
  return {
    ...renderInvoice(invoice, networks.networkFacts),
    checkout_url: `${deps.baseUrl}/i/${token}`,
  }
}
