import { renderPayment } from '../../../core/invoice/render.ts'
import { invoiceExists } from '../../../db/invoices/invoice-list.ts'
import { listPayments } from '../../../db/invoices/transfers.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { listPaymentsQuery, paymentList } from '../../../wire/invoice.ts'
import { pageOf } from '../../../wire/list.ts'
import { listView } from '../../views/list-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const listInvoicePaymentsRoute = defineRoute({
  method: 'get',
  path: '/invoices/:id/payments',
  operationId: 'listInvoicePayments',
  tag: 'Invoices',
  summary: 'List an invoice’s payments',
  description:
    'All payments, newest first; the invoice itself includes at most 20. Dust is not a payment: its sum is in the invoice’s `dust`.',
  scope: 'invoices:read',
  query: listPaymentsQuery,
  success: { status: 200, description: 'A page of payments.', schema: paymentList },
  problems: [],
  exists: invoiceExists,

  handler: async (deps, { tenant, id, query }) => {
    const { networkFacts } = await deps.networks.read()
    const page = await withTransaction(deps.pool, tenant, async (tx) =>
      (await invoiceExists(tx, tenant, id)) ? listPayments(tx, tenant, id, pageOf(query)) : null,
    )
    if (page === null) throw new ApiProblem('not_found')
    const data = page.payments.map((payment) => renderPayment(payment, networkFacts))
    return listView(`/invoices/${id}/payments`, page.hasMore, data)
  },
})
