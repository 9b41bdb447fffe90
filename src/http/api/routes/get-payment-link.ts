import { loadPaymentLink, paymentLinkExists } from '../../../db/checkout/payment-links.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { paymentLinkView } from '../../../wire/payment-link.ts'
import { paymentLinkViewOf } from '../../views/checkout-views.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const getPaymentLinkRoute = defineRoute({
  method: 'get',
  path: '/payment-links/:id',
  operationId: 'getPaymentLink',
  tag: 'Payment links',
  summary: 'Get a payment link',
  scope: 'payment_links:read',
  success: { status: 200, description: 'The payment link.', schema: paymentLinkView },
  problems: [],
  exists: paymentLinkExists,

  handler: async (deps, { tenant, id }) => {
    const link = await withTransaction(deps.pool, tenant, (tx) => loadPaymentLink(tx, tenant, id))
    if (link === null) throw new ApiProblem('not_found')
    return paymentLinkViewOf(deps, link)
  },
})
