import { invoiceExists } from '../../../db/invoices/invoice-list.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { payTestInvoiceBody, testPaymentView } from '../../../wire/test-payment.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const payTestInvoiceRoute = defineRoute({
  method: 'post',
  path: '/test/invoices/:id/pay',
  operationId: 'payTestInvoice',
  tag: 'Test mode',
  summary: 'Pay a test invoice on its sandbox chain',
  description:
    'Sends real transactions on the sandbox chain that stands in for a network without a node; everything after that is as with any payment. Steps that wait for one another go on after the answer.',
  scope: 'invoices:write',
  live: 'test_only',
  body: payTestInvoiceBody,
  example: { scenario: 'exact' },
  success: { status: 200, description: 'The payment is on its way.', schema: testPaymentView },
  problems: ['sandbox_not_available'],
  exists: invoiceExists,

  handler: async (deps, { tenant, id, body }) => {
    const { scenario } = body
    if (deps.sandbox === undefined) {
      const found = await withTransaction(deps.pool, tenant, (tx) => invoiceExists(tx, tenant, id))
      throw new ApiProblem(found ? 'sandbox_not_available' : 'not_found')
    }
    const paid = await deps.sandbox.payInvoice({ tenant, invoiceId: id, scenario, source: 'api' })
    switch (paid.kind) {
      case 'sent':
        return { object: 'test_payment' as const, invoice_id: id, scenario, txids: [...paid.txids] }
      case 'not_found':
        throw new ApiProblem('not_found')
      case 'sandbox_not_available':
        throw new ApiProblem('sandbox_not_available', { message: paid.reason })
    }
  },
})
