import { type Network, networkOf } from '../core/assets.ts'
import { wasSettled } from '../core/invoice/status.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { pullDeadline } from '../db/invoices/invoice-actions.ts'
import { loadInvoice } from '../db/invoices/invoices.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'

/**
 * How far in the past a pulled deadline lies. Nodes report times in whole seconds, so that a payment made now may
 * look a second older than it is, and it must not look on time.
 */
const PULLED_BY_MS = 2_000

type TestPaymentBeginning =
  | { readonly kind: 'ready'; readonly invoice: Invoice; readonly network: Network }
  | { readonly kind: 'not_found' }
  /** The invoice's network is live, or a node of somebody else's serves it. */
  | { readonly kind: 'unavailable'; readonly network: Network }

/**
 * Reads the invoice that a sandbox chain is about to pay and, where `late` is asked for, moves its deadline
 * into the past. Test mode only: a live invoice's deadline is never touched.
 */
export function beginTestPayment(
  deps: { readonly pool: Pool; readonly clock: Clock },
  input: {
    readonly tenant: Tenant
    readonly invoiceId: string
    readonly late: boolean
    /** Networks that run on a sandbox chain. */
    readonly networks: ReadonlySet<Network>
  },
): Promise<TestPaymentBeginning> {
  const { tenant, invoiceId } = input
  return withTransaction(deps.pool, tenant, async (tx) => {
    const stored = await loadInvoice(tx, tenant, invoiceId, { forUpdate: input.late })
    if (stored === null) return { kind: 'not_found' }
    const { invoice } = stored
    const network = networkOf(invoice.asset, invoice.livemode)
    if (invoice.livemode || !input.networks.has(network)) return { kind: 'unavailable', network }
    const open = invoice.cancelledAtMs === null && !wasSettled(invoice)
    if (!input.late || !open) return { kind: 'ready', invoice, network }
    const deadline = new Date(deps.clock().getTime() - PULLED_BY_MS)
    const pulled = await pullDeadline(tx, tenant, { invoiceId, deadline })
    return {
      kind: 'ready',
      invoice: pulled ? { ...invoice, expiresAtMs: deadline.getTime() } : invoice,
      network,
    }
  })
}
