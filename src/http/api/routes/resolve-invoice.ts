import { invoiceExists } from '../../../db/invoices/invoice-list.ts'
import { resolveInvoice } from '../../../flows/resolve-invoice.ts'
import { invoiceView, resolveInvoiceBody } from '../../../wire/invoice.ts'
import { invoiceViewOf } from '../../views/invoice-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const resolveInvoiceRoute = defineRoute({
  method: 'post',
  path: '/invoices/:id/resolve',
  operationId: 'resolveInvoice',
  tag: 'Invoices',
  summary: 'Resolve an invoice that waits for you',
  description:
    '`accept` credits what is confirmed and emits `invoice.paid`; `dismiss` closes the review, and the status is again what the payments say.',
  scope: 'invoices:write',
  live: 'session',
  body: resolveInvoiceBody,
  example: { resolution: 'accept', note: 'The buyer sent the rest in cash.' },
  success: { status: 200, description: 'The resolved invoice.', schema: invoiceView },
  problems: ['invoice_not_resolvable', 'address_unverified'],
  exists: invoiceExists,

  handler: async (deps, { tenant, id, body, callerId, requestId }) => {
    const networks = await deps.networks.read()
    const outcome = await resolveInvoice(deps, {
      tenant,
      invoiceId: id,
      resolution: body.resolution,
      note: body.note ?? null,
      actor: callerId,
      networkFacts: networks.networkFacts,
      requestId,
    })
    if (outcome.kind === 'not_found') throw new ApiProblem('not_found')
    if (outcome.kind === 'not_resolvable') throw new ApiProblem('invoice_not_resolvable')
    deps.notifier.invoiceChanged(id)
    if (outcome.deliveries > 0) deps.notifier.deliveriesWaiting()
    return invoiceViewOf(deps, networks, outcome.invoice)
  },
})
