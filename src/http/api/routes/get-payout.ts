import { renderPayout } from '../../../core/payout/render.ts'
import { loadPayout, payoutExists } from '../../../payouts/store/payouts.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { payoutView } from '../../../wire/payout.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const getPayoutRoute = defineRoute({
  method: 'get',
  path: '/payouts/:id',
  operationId: 'getPayout',
  tag: 'Payouts',
  summary: 'Get a payout',
  scope: 'payouts:read',
  success: { status: 200, description: 'The payout.', schema: payoutView },
  problems: [],
  exists: payoutExists,

  handler: async (deps, { tenant, id }) => {
    const stored = await withTransaction(deps.pool, tenant, (tx) =>
      loadPayout(tx, tenant, id, { source: 'available' }),
    )
    if (stored === null) throw new ApiProblem('not_found')
    return renderPayout(stored.payout)
  },
})
