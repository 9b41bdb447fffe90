import { listSessions } from '../../../db/checkout/checkout-sessions.ts'
import { loadPaymentLink, paymentLinkExists } from '../../../db/checkout/payment-links.ts'
import { loadInvoicesById } from '../../../db/invoices/invoice-list.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { pageOf } from '../../../wire/list.ts'
import { checkoutSessionList, listCheckoutSessionsQuery } from '../../../wire/payment-link.ts'
import { checkoutSessionViewOf } from '../../views/checkout-views.ts'
import { listView } from '../../views/list-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const listCheckoutSessionsRoute = defineRoute({
  method: 'get',
  path: '/payment-links/:id/checkout-sessions',
  operationId: 'listCheckoutSessions',
  tag: 'Checkout sessions',
  summary: 'List the checkout sessions of a payment link',
  description: 'Newest first. `order_reference` finds the session of one order.',
  scope: 'checkout_sessions:read',
  query: listCheckoutSessionsQuery,
  success: { status: 200, description: 'A page of checkout sessions.', schema: checkoutSessionList },
  problems: [],
  exists: paymentLinkExists,

  handler: (deps, { tenant, id, query }) =>
    withTransaction(deps.pool, tenant, async (tx) => {
      const link = await loadPaymentLink(tx, tenant, id)
      if (link === null) throw new ApiProblem('not_found')
      const page = await listSessions(tx, tenant, {
        ...pageOf(query),
        paymentLinkId: id,
        orderReference: query.order_reference,
      })
      const invoiceIds = page.sessions.flatMap(({ invoiceId }) => (invoiceId === null ? [] : [invoiceId]))
      const invoices = await loadInvoicesById(tx, tenant, invoiceIds)
      const data = page.sessions.map((session) =>
        checkoutSessionViewOf(deps, {
          session,
          link,
          invoice: invoices.get(session.invoiceId ?? '') ?? null,
        }),
      )
      return listView(`/payment-links/${id}/checkout-sessions`, page.hasMore, data)
    }),
})
