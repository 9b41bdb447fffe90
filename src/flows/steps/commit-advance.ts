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

/** An invoice as it was, and how it goes on. */
export type Advanced = {
  readonly before: StoredInvoice
  readonly advance: Extract<InvoiceAdvance, { kind: 'advanced' }>
}

type Context = {
  readonly now: Date
  readonly networkFacts: NetworkFacts
  readonly requestId: string | null
}

/**
 * Writes an advanced invoice with everything it causes: payments, events with their deliveries, ledger transfers. All
 * or nothing, in the caller's transaction. Returns whether anything changed, how many deliveries now wait, and how
 * much of what the chain took back had already been paid out.
 */
export async function commitAdvance(
  tx: Tx,
  tenant: Tenant,
  before: StoredInvoice,
  advance: Advanced['advance'],
  context: Context,
): Promise<{ changed: boolean; deliveries: number; shortfalls: readonly Shortfall[] }> {
  const { changed, ...rest } = await commitAdvances(tx, tenant, [{ before, advance }], context)
  return { ...rest, changed: changed.length > 0 }
}

/** The same for several invoices of one merchant. Returns the ids of those that changed. */
export async function commitAdvances(
  tx: Tx,
  tenant: Tenant,
  advances: readonly Advanced[],
  context: Context,
): Promise<{ changed: readonly string[]; deliveries: number; shortfalls: readonly Shortfall[] }> {
  const changes = advances
    .map((advanced) => ({ ...advanced, payments: paymentsThatChanged(advanced) }))
    .filter(
      ({ before, advance, payments }) =>
        payments.length > 0 || fingerprintOf(before.invoice) !== fingerprintOf(advance.next),
    )
  if (changes.length === 0) return { changed: [], deliveries: 0, shortfalls: [] }

  const ids = idsInOrder(changes, context.now)
  const written = changes.map(({ before, advance, payments }) => {
    const events = eventsOf(advance).map(({ type, snapshot }, index) =>
      invoiceEvent(type, snapshot, before.eventCount + index + 1, { ...context, id: ids.shift() }),
    )
    const known = new Set(before.invoice.payments.map((payment) => payment.id))
    return {
      before,
      next: { invoice: advance.next, eventCount: before.eventCount + events.length },
      events,
      added: payments.filter(({ id }) => !known.has(id)),
      updated: payments.filter(({ id }) => known.has(id)),
    }
  })
  // These are sent without waiting for one another, except postings, which must stay in order.
  const [queued, shortfalls] = await together([
    insertEvents(
      tx,
      tenant,
      written.flatMap(({ events }) => events),
    ),
    postInOrder(tx, tenant, changes, context.now),
    ...written.flatMap(({ before, next, added, updated }) => [
      updateAdvanced(tx, tenant, before, next),
      insertPayments(tx, tenant, next.invoice.id, added),
      updatePayments(tx, tenant, updated),
    ]),
  ])
  const changed = changes.map(({ advance }) => advance.next.id)
  return { changed, deliveries: queued.deliveries, shortfalls }
}

async function updateAdvanced(
  tx: Tx,
  tenant: Tenant,
  before: StoredInvoice,
  next: StoredInvoice,
): Promise<void> {
  if (!(await updateInvoice(tx, tenant, before, next)))
    throw new Error(`invoice ${next.invoice.id} was advanced without holding its row`)
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

/** Writes the ledger transfers of advances, and returns what had been paid out before the chain took it back. */
function postInOrder(
  tx: Tx,
  tenant: Tenant,
  advances: readonly Advanced[],
  createdAt: Date,
): Promise<Shortfall[]> {
  const postings = advances.flatMap(({ advance: { next, effects } }) =>
    effects
      .filter((effect) => effect.kind === 'posting')
      .map((posting) => ({
        ...posting,
        transfers: depositTransfers(next, posting).map((transfer) => ({ ...transfer, createdAt })),
      })),
  )
  return postGroups(tx, tenant, postings)
}

const eventsOf = ({ effects }: Advanced['advance']) => effects.filter((effect) => effect.kind === 'event')

/**
 * Ids for the events of one commit, sorted: created in the same millisecond, they would otherwise not sort in the order
 * of the events.
 */
function idsInOrder(advances: readonly Advanced[], now: Date): string[] {
  return advances
    .flatMap(({ advance }) => eventsOf(advance))
    .map(() => newId('event', now))
    .sort()
}

/** The event for one milestone of an invoice. */
export function invoiceEvent(
  type: string,
  snapshot: Invoice,
  sequence: number,
  context: Context & { readonly id?: string | undefined },
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

function paymentsThatChanged({ before, advance }: Advanced): Payment[] {
  const known = new Map(before.invoice.payments.map((payment) => [payment.id, fingerprint(payment)]))
  return advance.next.payments.filter((payment) => known.get(payment.id) !== fingerprint(payment))
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
