import { requestPayout } from '../../../payouts/request-payout.ts'
import { payoutDestinationExists } from '../../../payouts/store/payout-destinations.ts'
import { withTrialTransaction } from '../../../postgres/transaction.ts'
import { payoutQuoteQuery, payoutQuoteView } from '../../../wire/payout.ts'
import { payoutOf, payoutQuoteViewOf } from '../../views/payout-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const quotePayoutRoute = defineRoute({
  method: 'get',
  path: '/payout-destinations/:id/quote',
  operationId: 'quotePayout',
  tag: 'Payouts',
  summary: 'Quote a payout',
  description:
    'The fee and the amount that will arrive, at current fees, or the problem that requesting this payout would be answered with. Nothing is requested and nothing is set aside.',
  scope: 'payouts:read',
  query: payoutQuoteQuery,
  success: { status: 200, description: 'The payout as it would be requested now.', schema: payoutQuoteView },
  problems: [
    'payout_too_small',
    'balance_insufficient',
    'destination_not_usable',
    'payout_limit_exceeded',
    'payout_unavailable',
  ],
  exists: payoutDestinationExists,

  handler: async (deps, { tenant, id, query, callerId, requestId }) => {
    const rules = await deps.rulesOf(tenant)
    const tried = await withTrialTransaction(deps.pool, tenant, (tx) =>
      requestPayout(tx, {
        tenant,
        source: 'available',
        destinationId: id,
        amount: query.amount ?? null,
        asset: null,
        by: callerId,
        dailyLimits: rules.payoutDailyLimits,
        requestId,
        now: deps.clock(),
      }),
    )
    // Here the destination is the path's.
    if (tried.kind === 'not_found') throw new ApiProblem('not_found')
    return payoutQuoteViewOf(payoutOf(tried))
  },
})
