import type { InvoicePlan } from '../core/invoice/plan.ts'
import type { TipHeights } from '../core/invoice/render.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { invoiceEvent } from '../db/commit-advance.ts'
import { insertEvent } from '../db/queries/events.ts'
import { claimAddress, insertInvoice } from '../db/queries/invoices.ts'
import type { Tenant, Tx } from '../db/transaction.ts'
import { newId } from '../new-id.ts'

export type NewInvoiceDetails = {
  readonly allowAssetSelection: boolean
  readonly customerEmail: string | null
  readonly externalReference: string | null
  readonly metadata: { readonly [key: string]: unknown } | null
}

/**
 * Writes a planned invoice: takes an address from the pool, writes the invoice and `invoice.created` with its
 * deliveries. In the caller's transaction, so that the answer kept under an Idempotency-Key commits with it.
 */
export async function createInvoice(
  tx: Tx,
  input: {
    tenant: Tenant
    plan: Extract<InvoicePlan, { kind: 'planned' }>
    details: NewInvoiceDetails
    tipHeightOf: TipHeights
    requestId: string
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
  const claimed = await claimAddress(tx, plan.keyspace, plan.parameters, now)
  if (claimed === null) return { kind: 'no_address' }
  const invoice: Invoice = {
    ...plan.terms,
    ...input.details,
    ...NOTHING_HAPPENED_YET,
    merchantId: tenant.merchantId,
    livemode: tenant.livemode,
    id: newId('invoice', now),
    address: claimed.address,
    amountSource: 'merchant',
    orderReference: null,
    checkoutSessionId: null,
    paymentLinkId: null,
    reopenedFrom: null,
  }
  const event = invoiceEvent('invoice.created', invoice, 1, {
    now,
    tipHeightOf: input.tipHeightOf,
    requestId: input.requestId,
  })
  // Sent together: neither waits for the other's answer.
  const inserts = Promise.all([
    insertInvoice(tx, tenant, invoice, { ...claimed, keyspace: plan.keyspace }, event.sequence),
    insertEvent(tx, tenant, event),
  ])
  return { kind: 'created', invoice, written: inserts.then(([, queued]) => queued) }
}

const NOTHING_HAPPENED_YET = {
  expiredAtMs: null,
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
