import { sessionStatus } from '../core/checkout/checkout-session.ts'
import { advanceInvoice } from '../core/invoice/advance.ts'
import type { NetworkFacts } from '../core/invoice/render.ts'
import { isLive } from '../core/invoice/status.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { setSessionCancelled } from '../db/checkout/checkout-sessions.ts'
import { refuseX402OfCancelled } from '../db/invoices/x402-authorizations.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { commitAdvance } from './steps/commit-advance.ts'
import { type LoadedSession, loadWholeSession } from './steps/load-session.ts'

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
