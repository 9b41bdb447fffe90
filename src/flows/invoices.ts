import type { IssuedAddressCheck } from '../core/address-batch.ts'
import { advanceInvoice } from '../core/invoice/advance.ts'
import type { NetworkFacts } from '../core/invoice/render.ts'
import type { Invoice } from '../core/invoice/types.ts'
import { insertResolution } from '../db/invoices/invoice-actions.ts'
import { findReopening } from '../db/invoices/invoices.ts'
import { refuseX402OfCancelled } from '../db/invoices/x402-authorizations.ts'
import { withBlockSums } from '../db/ledger/received.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { commitAdvance } from './steps/commit-advance.ts'
import { loadShownInvoice } from './steps/shown-invoices.ts'

/**
 * The merchant's word on an invoice that waits for one: `accept` takes what is confirmed as full payment,
 * `dismiss` closes the open reviews, or those named. The note is kept with who gave it.
 */
export function resolveInvoice(
  deps: { pool: Pool; clock: Clock; issuedAddresses: IssuedAddressCheck },
  input: {
    tenant: Tenant
    invoiceId: string
    resolution: 'accept' | 'dismiss'
    /** Of a dismissal, the payments whose reviews it closes; all that are open unless given. */
    paymentIds?: readonly string[] | undefined
    note: string | null
    /** API key or user. */
    actor: string
    networkFacts: NetworkFacts
    requestId: string
  },
): Promise<
  | { kind: 'resolved'; invoice: Invoice; deliveries: number }
  | { kind: 'not_found' }
  | { kind: 'not_resolvable' }
> {
  const { tenant, invoiceId, resolution, paymentIds, note, actor, networkFacts, requestId } = input
  return withTransaction(deps.pool, tenant, async (tx) => {
    const found = await loadShownInvoice(tx, tenant, invoiceId, deps.issuedAddresses, {
      forUpdate: true,
    })
    if (found === null) return { kind: 'not_found' }
    const before = { ...found, invoice: await withBlockSums(tx, tenant, found.invoice, 'all') }
    const now = deps.clock()
    const advance = advanceInvoice(before.invoice, {
      kind: 'resolve',
      resolution,
      paymentIds,
      nowMs: now.getTime(),
    })
    if (advance.kind === 'refused') return { kind: 'not_resolvable' }
    const { deliveries } = await commitAdvance(tx, tenant, before, advance, { now, networkFacts, requestId })
    await insertResolution(tx, tenant, { invoiceId, requestId, resolution, note, actor, now })
    return { kind: 'resolved', invoice: advance.next, deliveries }
  })
}

/**
 * Cancels an invoice that awaits payment or has expired. Money that still comes is found until the horizon. One that its
 * buyer reopened stands for nothing any more: its successor can be paid, and is named.
 */
export function cancelInvoice(
  deps: { pool: Pool; clock: Clock; issuedAddresses: IssuedAddressCheck },
  input: { tenant: Tenant; invoiceId: string; networkFacts: NetworkFacts; requestId: string },
): Promise<
  | { kind: 'cancelled'; invoice: Invoice }
  | { kind: 'not_found' }
  | { kind: 'not_cancellable' }
  | { kind: 'reopened'; as: string }
> {
  const { tenant, invoiceId, networkFacts, requestId } = input
  return withTransaction(deps.pool, tenant, async (tx) => {
    const before = await loadShownInvoice(tx, tenant, invoiceId, deps.issuedAddresses, {
      forUpdate: true,
    })
    if (before === null) return { kind: 'not_found' }
    const now = deps.clock()
    const advance = advanceInvoice(before.invoice, { kind: 'cancel', nowMs: now.getTime() })
    if (advance.kind === 'refused') return { kind: 'not_cancellable' }
    // The row is held, as it is while the invoice is reopened.
    const successor = await findReopening(tx, tenant, invoiceId)
    if (successor !== null) return { kind: 'reopened', as: successor }
    await commitAdvance(tx, tenant, before, advance, { now, networkFacts, requestId })
    await refuseX402OfCancelled(tx, tenant, invoiceId, now)
    return { kind: 'cancelled', invoice: advance.next }
  })
}
