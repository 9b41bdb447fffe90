import { invoiceExists } from '../../../db/invoices/invoice-list.ts'
import { loadShownInvoice } from '../../../flows/steps/shown-invoices.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { invoiceView } from '../../../wire/invoice.ts'
import { invoiceViewOf } from '../../views/invoice-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const getInvoiceRoute = defineRoute({
  method: 'get',
  path: '/invoices/:id',
  operationId: 'getInvoice',
  tag: 'Invoices',
  summary: 'Get an invoice',
  scope: 'invoices:read',
  success: { status: 200, description: 'The invoice with its payments.', schema: invoiceView },
  problems: ['address_unverified'],
  exists: invoiceExists,

  handler: async (deps, { tenant, id }) => {
    const networks = await deps.networks.read()
    const stored = await withTransaction(deps.pool, tenant, (tx) =>
      loadShownInvoice(tx, tenant, id, deps.issuedAddresses),
    )
    if (stored === null) throw new ApiProblem('not_found')
    return invoiceViewOf(deps, networks, stored.invoice)
  },
})
