import type { PastInvoice } from '../core/import/past-invoices.ts'
import { saveImportedInvoices } from '../db/invoices/imported-invoices.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'

/** Writes some invoices of the past in one transaction. Those of an earlier run are found again by their source's id. */
export function importInvoices(
  deps: { pool: Pool; clock: Clock },
  input: { tenant: Tenant; source: string; invoices: readonly PastInvoice[] },
): Promise<{ made: number; changed: number }> {
  // Ids are of the time at which the invoices were made, so that lists have them in that order.
  const invoices = input.invoices.map((invoice) => ({
    ...invoice,
    id: newId('importedInvoice', new Date(invoice.createdAtMs)),
  }))
  return withTransaction(deps.pool, input.tenant, (tx) =>
    saveImportedInvoices(tx, input.tenant, { source: input.source, invoices, now: deps.clock() }),
  )
}
