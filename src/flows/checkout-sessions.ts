import type { Charge } from '../core/checkout/buyer-amount.ts'
import {
  type CheckoutSession,
  isSameCheckout,
  sessionStatus,
  type sessionTotal,
} from '../core/checkout/checkout-session.ts'
import {
  type PaymentLink,
  type TotalFault,
  totalFault,
  windowMinutesOf,
} from '../core/checkout/payment-link.ts'
import { advanceInvoice } from '../core/invoice/advance.ts'
import type { Market } from '../core/invoice/market.ts'
import type { NetworkFacts } from '../core/invoice/render.ts'
import { isLive } from '../core/invoice/status.ts'
import type { Invoice } from '../core/invoice/types.ts'
import {
  findSessionOfOrder,
  insertSession,
  lockOrderReference,
  setSessionCancelled,
} from '../db/checkout/checkout-sessions.ts'
import { loadPaymentLink } from '../db/checkout/payment-links.ts'
import { loadInvoice } from '../db/invoices/invoices.ts'
import { refuseX402OfCancelled } from '../db/invoices/x402-authorizations.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import { commitAdvance } from './steps/commit-advance.ts'
import { type LoadedSession, loadWholeSession } from './steps/load-session.ts'

const MS_PER_MINUTE = 60_000

type SessionRequest = Pick<
  CheckoutSession,
  'paymentLinkId' | 'orderReference' | 'requestedMinutes' | 'returnUrl'
> & {
  readonly charge: Charge
  /** The charge in dollars of the moment; null while its currency has no rate. */
  readonly total: ReturnType<typeof sessionTotal>
}

type SessionAnswer =
  | { readonly kind: 'new' }
  /** The order has the very session that is asked for, in whatever state it is now. */
  | {
      readonly kind: 'existing'
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
 * transaction ends, so that of requests for one order the later ones find what the first has made. A coin's price
 * that is missing refuses nothing: the coin is chosen, and its minimum looked at again, when the buyer continues.
 */
export async function answerForOrder(
  tx: Tx,
  tenant: Tenant,
  request: SessionRequest,
  context: { readonly market: Market; readonly nowMs: number },
): Promise<SessionAnswer> {
  await lockOrderReference(tx, tenant, request.orderReference)
  const link = await loadPaymentLink(tx, tenant, request.paymentLinkId)
  if (link === null) return { kind: 'not_found' }
  if (!link.allowDynamicAmount) return { kind: 'dynamic_amount_not_allowed' }
  const session = await findSessionOfOrder(tx, tenant, request.orderReference)
  if (session !== null && isSameCheckout(session, { ...request, livemode: tenant.livemode })) {
    const stored = session.invoiceId === null ? null : await loadInvoice(tx, tenant, session.invoiceId)
    return { kind: 'existing', session, link, invoice: stored?.invoice ?? null }
  }
  const { charge, total } = request
  const fault = totalFault({ charge, asset: link.asset }, context.market, context.nowMs)
  if (fault !== null && fault.code !== 'rate_unavailable') return { kind: 'refused', ...fault }
  if (session !== null) return { kind: 'order_reference_conflict' }
  if (!link.active) return { kind: 'payment_link_inactive' }
  if (total === null) return { kind: 'refused', code: 'rate_unavailable', param: 'price.currency' }
  return { kind: 'new' }
}

/** Writes a session that `answerForOrder` found new; null where the order has one in the other mode. */
export async function createCheckoutSession(
  tx: Tx,
  tenant: Tenant,
  request: SessionRequest,
  context: { readonly market: Market; readonly now: Date },
): Promise<{ session: CheckoutSession; link: PaymentLink } | null> {
  const { market, now } = context
  const link = await loadPaymentLink(tx, tenant, request.paymentLinkId)
  if (link === null) throw new Error(`link ${request.paymentLinkId} was there a moment ago`)
  const { charge: _charge, total, ...rest } = request
  if (total === null) throw new Error('a session without a total was refused before')
  const minutes = windowMinutesOf(link, market.rules, request.requestedMinutes)
  const session: CheckoutSession = {
    ...rest,
    ...total,
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

type CancelledSession =
  | { readonly kind: 'cancelled'; readonly found: LoadedSession }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'not_cancellable' }

/**
 * Cancels a session and with it the invoice that the buyer has made of it, unless money has come. What still
 * comes for that invoice is followed to the horizon, as for any cancelled one.
 */
export function cancelCheckoutSession(
  deps: { readonly pool: Pool; readonly clock: Clock },
  input: {
    readonly tenant: Tenant
    readonly sessionId: string
    readonly networkFacts: NetworkFacts
    readonly requestId: string
  },
): Promise<CancelledSession> {
  const { tenant, sessionId, networkFacts, requestId } = input
  return withTransaction(deps.pool, tenant, async (tx): Promise<CancelledSession> => {
    const found = await loadWholeSession(tx, tenant, sessionId, { forUpdate: true })
    if (found === null) return { kind: 'not_found' }
    const now = deps.clock()
    const { session, stored } = found
    const status = sessionStatus(session, found.invoice, now.getTime())
    if (status === 'cancelled' || status === 'completed') return { kind: 'not_cancellable' }
    let invoice: Invoice | null = null
    if (stored !== null) {
      const advance = advanceInvoice(stored.invoice, { kind: 'cancel', nowMs: now.getTime() })
      if (advance.kind === 'refused' || hasMoney(stored.invoice)) return { kind: 'not_cancellable' }
      await commitAdvance(tx, tenant, stored, advance, { now, networkFacts, requestId })
      await refuseX402OfCancelled(tx, tenant, stored.invoice.id, now)
      invoice = advance.next
    }
    if (!(await setSessionCancelled(tx, tenant, sessionId, now)))
      throw new Error(`session ${sessionId} was cancelled without holding its row`)
    const cancelled = { ...session, cancelledAtMs: now.getTime() }
    return { kind: 'cancelled', found: { ...found, session: cancelled, invoice } }
  })
}

/** Something is on its way or has come, be it in the wrong coin. */
const hasMoney = (invoice: Invoice): boolean =>
  invoice.payments.some((payment) => isLive(payment) && !payment.dust)
