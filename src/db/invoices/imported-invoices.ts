import type { PastInvoice, PastPayment } from '../../core/import/past-invoices.ts'
import type { Tenant, Tx } from '../../postgres/transaction.ts'

export type ImportedInvoice = PastInvoice & {
  readonly id: string
  readonly livemode: boolean
  readonly source: string
  readonly importedAt: Date
}

/**
 * Writes what was read, many at once, and brings what is there already to what the file says. Gives how many are new and
 * how many changed. Served by imported_invoice_once.
 */
export async function saveImportedInvoices(
  tx: Tx,
  tenant: Tenant,
  input: { source: string; invoices: readonly (PastInvoice & { readonly id: string })[]; now: Date },
): Promise<{ made: number; changed: number }> {
  const { rows } = await tx.query<{ is_new: boolean }>(
    `insert into imported_invoice as i (merchant_id, id, livemode, source, source_id, status, amount, currency,
       order_reference, customer_email, payments, created_at, imported_at)
     select $1, n.id, $2, $3, n.source_id, n.status, n.amount, n.currency, n.order_reference, n.customer_email,
       n.payments, to_timestamp(n.created_at_ms / 1000.0), $5
     from json_to_recordset($4) as n (id text, source_id text, status text, amount numeric, currency text,
       order_reference text, customer_email text, payments json, created_at_ms numeric)
     on conflict (merchant_id, livemode, source, source_id) do update
     set status = excluded.status, amount = excluded.amount, currency = excluded.currency,
       order_reference = excluded.order_reference, customer_email = excluded.customer_email,
       payments = excluded.payments, created_at = excluded.created_at, imported_at = excluded.imported_at
     where (i.status, i.amount, i.currency, i.order_reference, i.customer_email, i.payments::text, i.created_at)
       is distinct from (excluded.status, excluded.amount, excluded.currency, excluded.order_reference,
         excluded.customer_email, excluded.payments::text, excluded.created_at)
     returning xmax = 0 as is_new`,
    [tenant.merchantId, tenant.livemode, input.source, JSON.stringify(input.invoices.map(toRow)), input.now],
  )
  const made = rows.filter((row) => row.is_new).length
  return { made, changed: rows.length - made }
}

const toRow = (invoice: PastInvoice & { readonly id: string }) => ({
  id: invoice.id,
  source_id: invoice.sourceId,
  status: invoice.status,
  amount: invoice.amount,
  currency: invoice.currency,
  order_reference: invoice.orderReference,
  customer_email: invoice.customerEmail,
  payments: invoice.payments,
  created_at_ms: invoice.createdAtMs,
})

type Row = {
  id: string
  livemode: boolean
  source: string
  source_id: string
  status: string
  amount: string
  currency: string
  order_reference: string | null
  customer_email: string | null
  payments: PastPayment[]
  created_at: Date
  imported_at: Date
}

/**
 * A page of what was imported, newest first by the time of its source. Served by the key, read backwards; a filter
 * passes over the merchant's other rows, as many as the operator imported.
 */
export async function listImportedInvoices(
  tx: Tx,
  tenant: Tenant,
  page: { limit: number; startingAfter: string | null; endingBefore: string | null },
  filter: { orderReference: string | null; q: string | null },
): Promise<{ invoices: ImportedInvoice[]; hasMore: boolean }> {
  const backwards = page.endingBefore !== null
  const { rows } = await tx.query<Row>(
    `select id, livemode, source, source_id, status, amount::text as amount, currency, order_reference,
       customer_email, payments, created_at, imported_at
     from imported_invoice
     where merchant_id = $1 and livemode = $2 and ($3::text is null or id < $3) and ($4::text is null or id > $4)
       and ($5::text is null or order_reference = $5)
       and ($6::text is null or lower($6) in (lower(order_reference), lower(source_id), lower(customer_email)))
     order by id ${backwards ? 'asc' : 'desc'} limit $7`,
    [
      tenant.merchantId,
      tenant.livemode,
      page.startingAfter,
      page.endingBefore,
      filter.orderReference,
      filter.q,
      page.limit + 1,
    ],
  )
  const invoices = rows.slice(0, page.limit).map(toInvoice)
  return { invoices: backwards ? invoices.reverse() : invoices, hasMore: rows.length > page.limit }
}

const toInvoice = (row: Row): ImportedInvoice => ({
  id: row.id,
  livemode: row.livemode,
  source: row.source,
  sourceId: row.source_id,
  status: row.status,
  amount: row.amount,
  currency: row.currency,
  orderReference: row.order_reference,
  customerEmail: row.customer_email,
  payments: row.payments,
  createdAtMs: row.created_at.getTime(),
  importedAt: row.imported_at,
})
