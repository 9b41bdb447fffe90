import { listPaymentLinks } from '../../../db/checkout/payment-links.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { pageOf } from '../../../wire/list.ts'
import { listPaymentLinksQuery, paymentLinkList } from '../../../wire/payment-link.ts'
import { paymentLinkViewOf } from '../../views/checkout-views.ts'
import { listView } from '../../views/list-view.ts'
import { defineRoute } from '../route.ts'

export const listPaymentLinksRoute = defineRoute({
  method: 'get',
  path: '/payment-links',
  operationId: 'listPaymentLinks',
  tag: 'Payment links',
  summary: 'List payment links',
  description: 'Newest first.',
  scope: 'payment_links:read',
  query: listPaymentLinksQuery,
  success: { status: 200, description: 'A page of payment links.', schema: paymentLinkList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const page = await withTransaction(deps.pool, tenant, (tx) => listPaymentLinks(tx, tenant, pageOf(query)))
    const data = page.links.map((link) => paymentLinkViewOf(deps, link))
    return listView('/payment-links', page.hasMore, data)
  },
})
