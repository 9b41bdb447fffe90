import type { CheckoutSession } from '../../core/checkout/checkout-session.ts'
import type { PaymentLink } from '../../core/checkout/payment-link.ts'
import type { Invoice } from '../../core/invoice/types.ts'
import { loadSession } from '../../db/checkout/checkout-sessions.ts'
import { loadPaymentLink } from '../../db/checkout/payment-links.ts'
import { loadInvoice, type StoredInvoice } from '../../db/invoices/invoices.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

/** A session with what its status depends on. */
export type LoadedSession = {
  readonly session: CheckoutSession
  readonly link: PaymentLink
  readonly stored: StoredInvoice | null
  readonly invoice: Invoice | null
}

/**
 * A session, its link, and its invoice where the buyer has continued; null where it is not there. `forUpdate`
 * holds the session first and the invoice after it, which is the order for everybody.
 */
export async function loadWholeSession(
  tx: Tx,
  tenant: Tenant,
  sessionId: string,
  options: { forUpdate?: boolean } = {},
): Promise<LoadedSession | null> {
  const session = await loadSession(tx, tenant, sessionId, options)
  if (session === null) return null
  const link = await loadPaymentLink(tx, tenant, session.paymentLinkId)
  if (link === null) throw new Error(`session ${sessionId} has no link`)
  const stored = session.invoiceId === null ? null : await loadInvoice(tx, tenant, session.invoiceId, options)
  return { session, link, stored, invoice: stored?.invoice ?? null }
}
