import { asksForSession, type CheckoutSession } from '../core/checkout/checkout-session.ts'
import {
  type PaymentLink,
  type TotalFault,
  totalFault,
  windowMinutesOf,
} from '../core/checkout/payment-link.ts'
import type { Market } from '../core/invoice/market.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { findSessionOfOrder, insertSession, lockOrderReference } from '../db/checkout/checkout-sessions.ts'
import { loadPaymentLink } from '../db/checkout/payment-links.ts'
import { loadInvoice } from '../db/invoices/invoices.ts'
import type { Tenant, Tx } from '../postgres/transaction.ts'
import { newId } from '../runtime/new-id.ts'

const MS_PER_MINUTE = 60_000

type AskedSession = Pick<
  CheckoutSession,
  'paymentLinkId' | 'orderReference' | 'usdCents' | 'askedMinutes' | 'returnUrl'
>

type SessionAnswer =
  | { readonly kind: 'new' }
  /** The order has the very session that is asked for, in whatever state it is now. */
  | {
      readonly kind: 'standing'
      readonly session: CheckoutSession
      readonly link: PaymentLink
      readonly invoice: Invoice | null
    }
  | {
      readonly kind:
        | 'not_found'
        | 'dynamic_amount_not_allowed'
        | 'order_reference_conflict'
        | 'payment_link_inactive'
    }
  | ({ readonly kind: 'refused' } & TotalFault)

/**
 * What a request for a session comes to, before anything is made. Holds the order reference until the
 * transaction ends, so that of requests for one order the later ones find what the first has made. A price that
 * is missing refuses nothing: the coin is chosen, and its minimum looked at again, when the buyer continues.
 */
export async function answerForOrder(
  tx: Tx,
  tenant: Tenant,
  asked: AskedSession,
  context: { readonly market: Market; readonly nowMs: number },
): Promise<SessionAnswer> {
  await lockOrderReference(tx, tenant, asked.orderReference)
  const link = await loadPaymentLink(tx, tenant, asked.paymentLinkId)
  if (link === null) return { kind: 'not_found' }
  if (!link.allowDynamicAmount) return { kind: 'dynamic_amount_not_allowed' }
  const session = await findSessionOfOrder(tx, tenant, asked.orderReference)
  if (session !== null && asksForSession(session, { ...asked, livemode: tenant.livemode })) {
    const stored = session.invoiceId === null ? null : await loadInvoice(tx, tenant, session.invoiceId)
    return { kind: 'standing', session, link, invoice: stored?.invoice ?? null }
  }
  const fault = totalFault({ usdCents: asked.usdCents, asset: link.asset }, context.market, context.nowMs)
  if (fault !== null && fault.code !== 'rate_unavailable') return { kind: 'refused', ...fault }
  if (session !== null) return { kind: 'order_reference_conflict' }
  return link.active ? { kind: 'new' } : { kind: 'payment_link_inactive' }
}

/** Writes a session that `answerForOrder` found new; null where the order has one in the other mode. */
export async function createCheckoutSession(
  tx: Tx,
  tenant: Tenant,
  asked: AskedSession,
  context: { readonly market: Market; readonly now: Date },
): Promise<{ session: CheckoutSession; link: PaymentLink } | null> {
  const { market, now } = context
  const link = await loadPaymentLink(tx, tenant, asked.paymentLinkId)
  if (link === null) throw new Error(`link ${asked.paymentLinkId} was there a moment ago`)
  const minutes = windowMinutesOf(link, market.rules, asked.askedMinutes)
  const session: CheckoutSession = {
    ...asked,
    merchantId: tenant.merchantId,
    livemode: tenant.livemode,
    id: newId('checkoutSession', now),
    createdAtMs: now.getTime(),
    expiresAtMs: now.getTime() + minutes * MS_PER_MINUTE,
    cancelledAtMs: null,
    invoiceId: null,
  }
  return (await insertSession(tx, tenant, session)) ? { session, link } : null
}
