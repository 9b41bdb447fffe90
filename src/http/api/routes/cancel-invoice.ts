import { invoiceExists } from '../../../db/invoices/invoice-list.ts'
import { cancelInvoice } from '../../../flows/cancel-invoice.ts'
import { invoiceView } from '../../../wire/invoice.ts'
import { invoiceViewOf } from '../../views/invoice-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const cancelInvoiceRoute = defineRoute({
  method: 'post',
  path: '/invoices/:id/cancel',
  operationId: 'cancelInvoice',
  tag: 'Invoices',
  summary: 'Cancel an invoice',
  description:
    'Possible while it awaits payment or has expired. Payments that arrive within the next ten minutes are still followed and put up for your review.',
  scope: 'invoices:write',
  success: { status: 200, description: 'The cancelled invoice.', schema: invoiceView },
  problems: ['invoice_not_cancellable', 'address_unverified'],
  exists: invoiceExists,

  handler: async (deps, { tenant, id, requestId }) => {
    const networks = await deps.networks.read()
    const { networkFacts } = networks
    const outcome = await cancelInvoice(deps, { tenant, invoiceId: id, networkFacts, requestId })
    if (outcome.kind === 'not_found') throw new ApiProblem('not_found')
    if (outcome.kind === 'not_cancellable') throw new ApiProblem('invoice_not_cancellable')
    deps.notifier.invoiceChanged(id)
    return invoiceViewOf(deps, networks, outcome.invoice)
  },
})
