import { listPayoutDestinations } from '../../../payouts/store/payout-destinations.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { pageOf } from '../../../wire/list.ts'
import { listPayoutDestinationsQuery, payoutDestinationList } from '../../../wire/payout.ts'
import { listView } from '../../views/list-view.ts'
import { payoutDestinationViewOf } from '../../views/payout-view.ts'
import { defineRoute } from '../route.ts'

export const listPayoutDestinationsRoute = defineRoute({
  method: 'get',
  path: '/payout-destinations',
  operationId: 'listPayoutDestinations',
  tag: 'Payouts',
  summary: 'List payout destinations',
  description: 'Newest first; removed ones are not shown.',
  scope: 'payouts:read',
  query: listPayoutDestinationsQuery,
  success: { status: 200, description: 'A page of destinations.', schema: payoutDestinationList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const page = await withTransaction(deps.pool, tenant, (tx) =>
      listPayoutDestinations(tx, tenant, pageOf(query), query.asset),
    )
    return listView('/payout-destinations', page.hasMore, page.destinations.map(payoutDestinationViewOf))
  },
})
