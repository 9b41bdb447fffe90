import { eventBody } from '../../core/event/envelope.ts'
import { type NetworkFacts, renderInvoice } from '../../core/invoice/render.ts'
import type { Invoice, InvoiceAdvance, Payment } from '../../core/invoice/types.ts'
import { depositTransfers } from '../../core/ledger/deposit.ts'
import { insertEvents } from '../../db/delivery/events.ts'
import { type StoredInvoice, updateInvoice } from '../../db/invoices/invoices.ts'
import { insertPayments, updatePayments } from '../../db/invoices/transfers.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'
import { newId } from '../../runtime/new-id.ts'
import { postGroups, type Shortfall } from './post-transfers.ts'

/**
 * Writes an advanced invoice with everything it causes: payments, events with their deliveries, ledger transfers. All
 * or nothing, in the caller's transaction. Returns whether anything changed, how many deliveries now wait, and how
 * much of what the chain took back had already been paid out.
 */
export async function commitAdvance(
  tx: Tx,
  tenant: Tenant,
  before: StoredInvoice,
  advance: Extract<InvoiceAdvance, { kind: 'advanced' }>,
  context: { now: Date; networkFacts: NetworkFacts; requestId: string | null },
): Promise<{ changed: boolean; deliveries: number; shortfalls: readonly Shortfall[] }> {
  const changedPayments = paymentsThatChanged(before.invoice, advance.next)
  const invoiceChanged = fingerprintOf(before.invoice) !== fingerprintOf(advance.next)
  if (changedPayments.length === 0 && !invoiceChanged) {
    return { changed: false, deliveries: 0, shortfalls: [] }
  }

  const known = new Set(before.invoice.payments.map((payment) => payment.id))
  const isNew = (payment: Payment) => !known.has(payment.id)
  const ids = idsInOrder(advance, context.now)
  const events = advance.effects
    .filter((effect) => effect.kind === 'event')
    .map(({ type, snapshot }, index) =>
      invoiceEvent(type, snapshot, before.eventCount + index + 1, { ...context, id: ids[index] }),
    )
  const eventCount = before.eventCount + events.length
  // These are sent without waiting for one another, except postings, which must stay in order.
  const [queued, shortfalls, written] = await together([
    insertEvents(tx, tenant, events),
    postInOrder(tx, tenant, advance, context.now),
    updateInvoice(tx, tenant, before, { invoice: advance.next, eventCount }),
    insertPayments(tx, tenant, advance.next.id, changedPayments.filter(isNew)),
    updatePayments(
      tx,
      tenant,
      changedPayments.filter((payment) => !isNew(payment)),
    ),
  ])
  if (!written) throw new Error(`invoice ${advance.next.id} was advanced without holding its row`)
  return { changed: true, deliveries: queued.deliveries, shortfalls }
}

/**
 * Resolves when all have, or rejects with the first failure once none is still running: nothing may be sent after the
 * rollback.
 */
async function together<Work extends readonly Promise<unknown>[]>(work: readonly [...Work]) {
  try {
    return await Promise.all(work)
  } finally {
    await Promise.allSettled(work)
  }
}

/** Writes the ledger transfers of an advance, and returns what had been paid out before the chain took it back. */
function postInOrder(
  tx: Tx,
  tenant: Tenant,
  { next, effects }: Extract<InvoiceAdvance, { kind: 'advanced' }>,
  createdAt: Date,
): Promise<Shortfall[]> {
  const postings = effects.filter((effect) => effect.kind === 'posting')
  return postGroups(
    tx,
    tenant,
    postings.map((posting) => ({
      ...posting,
      transfers: depositTransfers(next, posting).map((transfer) => ({ ...transfer, createdAt })),
    })),
  )
}

/**
 * Ids for the events of one commit, sorted: created in the same millisecond, they would otherwise not sort in the order
 * of the events.
 */
function idsInOrder({ effects }: Extract<InvoiceAdvance, { kind: 'advanced' }>, now: Date): string[] {
  const events = effects.filter((effect) => effect.kind === 'event')
  return events.map(() => newId('event', now)).sort()
}

/** The event for one milestone of an invoice. */
export function invoiceEvent(
  type: string,
  snapshot: Invoice,
  sequence: number,
  context: { now: Date; networkFacts: NetworkFacts; requestId: string | null; id?: string | undefined },
) {
  const { id = newId('event', context.now) } = context
  const body = eventBody({
    id,
    type,
    merchantId: snapshot.merchantId,
    resourceId: snapshot.id,
    livemode: snapshot.livemode,
    createdAtMs: context.now.getTime(),
    sequence,
    requestId: context.requestId,
    data: renderInvoice(snapshot, context.networkFacts),
  })
  const { requestId, now: createdAt } = context
  return { id, type, resourceId: snapshot.id, sequence, body, requestId, createdAt }
}

function paymentsThatChanged(before: Invoice, next: Invoice): Payment[] {
  const known = new Map(before.payments.map((payment) => [payment.id, fingerprint(payment)]))
  return next.payments.filter((payment) => known.get(payment.id) !== fingerprint(payment))
}

/** Of all that an advance can change in an invoice besides its payments. */
function fingerprintOf({ payments: _payments, ...fields }: Invoice): string {
  return fingerprint(fields)
}

function fingerprint(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    typeof field === 'bigint' ? field.toString() : field,
  )
}
