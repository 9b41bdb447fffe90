import type { IssuedAddressCheck } from '../core/address-batch.ts'
import type { OwnInvoice, ReopenedInvoice } from '../core/checkout/checkout-pages.ts'
import type { Market } from '../core/invoice/market.ts'
import { isReopenable, planReopening } from '../core/invoice/reopen.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { loadPaymentLink } from '../db/checkout/payment-links.ts'
import { findReopening, loadInvoice } from '../db/invoices/invoices.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { commitNewInvoice } from './steps/commit-new-invoice.ts'
import type { OpenInvoiceLimit } from './steps/open-invoice-limit.ts'
import { isBeingPaid } from './steps/payment-under-way.ts'
import { queueBuyerEmails } from './steps/queue-buyer-emails.ts'

type ReopenInvoiceDeps = {
  /** Connections of the API's role. */
  readonly pool: Pool
  readonly clock: Clock
  readonly issuedAddresses: IssuedAddressCheck
  readonly openInvoices: OpenInvoiceLimit
  readonly serviceFeeBps: number
  readonly keyring: Keyring
  /** Origin of the site. */
  readonly baseUrl: string
  readonly marketOf: (tenant: Tenant) => Promise<Market>
  readonly notifier: { deliveriesWaiting(): void }
}

type Outcome = ReopenedInvoice & { readonly deliveries?: number }

/**
 * A new invoice at the current price for one that expired unpaid: of a plain link, or of the API where the
 * payment rules allow it. The old one's row is held, so that two clicks make one.
 */
export async function reopenInvoice(deps: ReopenInvoiceDeps, input: OwnInvoice): Promise<ReopenedInvoice> {
  const { tenant, invoiceId } = input
  const [market, isFullForShop, isFullForBuyers] = await Promise.all([
    deps.marketOf(tenant),
    deps.openInvoices.isReached(tenant, 'shop'),
    deps.openInvoices.isReached(tenant, 'buyer'),
  ])
  const outcome = await withTransaction(deps.pool, tenant, async (tx): Promise<Outcome> => {
    const stored = await loadInvoice(tx, tenant, invoiceId, { forUpdate: true })
    if (stored === null) return { kind: 'not_found' }
    const { invoice } = stored
    const before = await findReopening(tx, tenant, invoiceId)
    if (before !== null) return { kind: 'invoice', tenant, invoiceId: before }
    const { paymentLinkId } = invoice
    const link = paymentLinkId === null ? null : await loadPaymentLink(tx, tenant, paymentLinkId)
    if (!isReopenable(invoice, link, market.rules)) return { kind: 'not_reopenable' }
    const now = deps.clock()
    // Money that is on its way to the old invoice would be paid twice.
    if (await isBeingPaid(tx, tenant, invoice, now)) return { kind: 'not_reopenable' }
    const plan = planReopening(invoice, link, market, now.getTime())
    const isFull = paymentLinkId === null ? isFullForShop : isFullForBuyers
    if (isFull) return { kind: 'asset_unavailable', reason: 'asset_unavailable' }
    if (plan.kind === 'unavailable') return { kind: 'asset_unavailable', reason: plan.code }
    if (plan.kind === 'refused') {
      if (plan.code === 'parameter_invalid') throw new Error('a stored amount is no amount')
      return { kind: 'asset_unavailable', reason: plan.code }
    }
    const created = await commitNewInvoice(tx, {
      tenant,
      plan,
      details: detailsOf(invoice),
      networkFacts: market.networkFacts,
      issuedAddresses: deps.issuedAddresses,
      serviceFeeBps: deps.serviceFeeBps,
      requestId: null,
    })
    if (created.kind === 'no_address') return { kind: 'asset_unavailable', reason: 'asset_unavailable' }
    await queueBuyerEmails(tx, deps, created.invoice, market.rules.buyerEmails)
    const { deliveries } = await created.written
    deps.openInvoices.created(tenant, paymentLinkId === null ? 'shop' : 'buyer')
    return { kind: 'invoice', tenant, invoiceId: created.invoice.id, deliveries }
  })
  const { deliveries = 0, ...reopened } = outcome
  if (deliveries > 0) deps.notifier.deliveriesWaiting()
  return reopened
}

/** All that the merchant said of the old invoice; of a session nothing, for such an invoice is never reopened. */
const detailsOf = (invoice: Invoice) => ({
  allowAssetSelection: invoice.allowAssetSelection,
  customerEmail: invoice.customerEmail,
  description: invoice.description,
  externalReference: invoice.externalReference,
  metadata: invoice.metadata,
  amountSource: invoice.amountSource,
  paymentLinkId: invoice.paymentLinkId,
  returnUrl: invoice.returnUrl,
  reopenedFrom: invoice.id,
})
