import type { IssuedAddressCheck } from '../core/address-batch.ts'
import type { InvoicePlan } from '../core/invoice/plan.ts'
import type { NetworkFacts } from '../core/invoice/render.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { newId } from '../new-id.ts'
import { claimIssuedAddress } from './claim-issued-address.ts'
import { invoiceEvent } from './commit-advance.ts'
import { insertEvent } from './queries/events.ts'
import { insertInvoice } from './queries/invoices.ts'
import type { Tenant, Tx } from './transaction.ts'

/** What an invoice has beside its terms; where it comes from is left out where nothing but a request made it. */
export type NewInvoiceDetails = Pick<
  Invoice,
  'allowAssetSelection' | 'customerEmail' | 'externalReference' | 'metadata'
> &
  Partial<
    Pick<
      Invoice,
      'amountSource' | 'orderReference' | 'checkoutSessionId' | 'paymentLinkId' | 'returnUrl' | 'reopenedFrom'
    >
  >

/**
 * Writes a planned invoice: takes an address from the pool, writes the invoice and `invoice.created` with its
 * deliveries. In the caller's transaction, so that what made it and the answer kept for it commit with it.
 */
export async function commitNewInvoice(
  tx: Tx,
  input: {
    tenant: Tenant
    plan: Extract<InvoicePlan, { kind: 'planned' }>
    details: NewInvoiceDetails
    networkFacts: NetworkFacts
    issuedAddresses: IssuedAddressCheck
    /** What the operator keeps, in basis points. */
    serviceFeeBps: number
    /** Of the API request that asks for it; null where a buyer does. */
    requestId: string | null
  },
): Promise<
  | {
      kind: 'created'
      invoice: Invoice
      /** What the caller awaits before the commit; meanwhile it may send statements of its own. */
      written: Promise<{ deliveries: number }>
    }
  | { kind: 'no_address' }
> {
  const { tenant, plan } = input
  const now = new Date(plan.terms.createdAtMs)
  const claimed = await claimIssuedAddress(tx, plan.deposit, now, input.issuedAddresses)
  if (claimed === null) return { kind: 'no_address' }
  const invoice: Invoice = {
    ...NO_ORIGIN,
    ...plan.terms,
    ...input.details,
    ...NOTHING_HAPPENED_YET,
    merchantId: tenant.merchantId,
    livemode: tenant.livemode,
    id: newId('invoice', now),
    address: claimed.address,
    serviceFeeBps: input.serviceFeeBps,
  }
  const event = invoiceEvent('invoice.created', invoice, 1, {
    now,
    networkFacts: input.networkFacts,
    requestId: input.requestId,
  })
  // Sent together: neither waits for the other's answer.
  const inserts = Promise.all([
    insertInvoice(tx, tenant, invoice, { ...claimed, keyspace: plan.deposit.keyspace }, event.sequence),
    insertEvent(tx, tenant, event),
  ])
  const written = inserts.then(([, queued]) => queued)
  // Whoever awaits it hears of a failure; a caller that fails before it does must not leave one unheard.
  written.catch(() => {})
  return { kind: 'created', invoice, written }
}

const NOTHING_HAPPENED_YET = {
  expiredAtMs: null,
  expiryReading: null,
  cancelledAtMs: null,
  paidAtMs: null,
  acceptedAtMs: null,
  reorgDismissed: false,
  announced: {
    detected: false,
    paid: false,
    overpaid: false,
    expired: false,
    reorged: false,
    partialSums: [],
  },
  payments: [],
} as const

const NO_ORIGIN = {
  amountSource: 'merchant',
  orderReference: null,
  checkoutSessionId: null,
  paymentLinkId: null,
  returnUrl: null,
  reopenedFrom: null,
} as const
