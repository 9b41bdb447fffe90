import { renderPayout } from '../../../core/payout/render.ts'
import { listPayouts } from '../../../payouts/store/payouts.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { pageOf } from '../../../wire/list.ts'
import { listPayoutsQuery, payoutList } from '../../../wire/payout.ts'
import { listView } from '../../views/list-view.ts'
import { defineRoute } from '../route.ts'

export const listPayoutsRoute = defineRoute({
  method: 'get',
  path: '/payouts',
  operationId: 'listPayouts',
  tag: 'Payouts',
  summary: 'List payouts',
  description: 'Newest first.',
  scope: 'payouts:read',
  query: listPayoutsQuery,
  success: { status: 200, description: 'A page of payouts.', schema: payoutList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const { status, asset } = query
    const page = await withTransaction(deps.pool, tenant, (tx) =>
      listPayouts(tx, tenant, pageOf(query), { status, asset }),
    )
    return listView('/payouts', page.hasMore, page.payouts.map(renderPayout))
  },
})
