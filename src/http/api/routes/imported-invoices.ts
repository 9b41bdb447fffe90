import { type ImportedInvoice, listImportedInvoices } from '../../../db/invoices/imported-invoices.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { importedInvoiceList, listImportedInvoicesQuery } from '../../../wire/imported-invoice.ts'
import { pageOf } from '../../../wire/list.ts'
import { listView } from '../../views/list-view.ts'
import { defineRoute } from '../route.ts'

export const listImportedInvoicesRoute = defineRoute({
  method: 'get',
  path: '/imported-invoices',
  operationId: 'listImportedInvoices',
  tag: 'Invoices',
  summary: 'List invoices of the past',
  description:
    'What `paylink import` read from the export of another service: a record, with no money of Paylink behind it. Newest first.',
  scope: 'invoices:read',
  query: listImportedInvoicesQuery,
  success: { status: 200, description: 'A page of them.', schema: importedInvoiceList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const page = await withTransaction(deps.pool, tenant, (tx) =>
      listImportedInvoices(tx, tenant, pageOf(query), {
        orderReference: query.order_reference ?? null,
        q: query.q ?? null,
      }),
    )
    return listView('/imported-invoices', page.hasMore, page.invoices.map(viewOf))
  },
})

const viewOf = (invoice: ImportedInvoice) => ({
  id: invoice.id,
  object: 'imported_invoice' as const,
  livemode: invoice.livemode,
  source: invoice.source,
  source_id: invoice.sourceId,
  status: invoice.status,
  amount: invoice.amount,
  currency: invoice.currency,
  order_reference: invoice.orderReference,
  customer_email: invoice.customerEmail,
  payments: [...invoice.payments],
  created_at: new Date(invoice.createdAtMs).toISOString(),
  imported_at: invoice.importedAt.toISOString(),
})
