import {
  payoutDestinationExists,
  removePayoutDestination,
} from '../../../payouts/store/payout-destinations.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const deletePayoutDestinationRoute = defineRoute({
  method: 'delete',
  path: '/payout-destinations/:id',
  operationId: 'deletePayoutDestination',
  tag: 'Payouts',
  summary: 'Remove a payout destination',
  description: 'No payout to it can be requested or approved any more. Approved ones go on.',
  scope: 'payouts:write',
  live: 'session',
  success: { status: 204, description: 'The destination is off the list.' },
  problems: [],
  exists: payoutDestinationExists,

  handler: async (deps, { tenant, id }) => {
    const removed = await withTransaction(deps.pool, tenant, (tx) =>
      removePayoutDestination(tx, tenant, id, deps.clock()),
    )
    if (!removed) throw new ApiProblem('not_found')
    return undefined
  },
})
