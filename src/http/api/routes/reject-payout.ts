import { decidePayout } from '../../../payouts/decide-payout.ts'
import { payoutExists } from '../../../payouts/store/payouts.ts'
import { payoutView } from '../../../wire/payout.ts'
import { decidedPayoutView } from '../../views/payout-view.ts'
import { defineRoute } from '../route.ts'

export const rejectPayoutRoute = defineRoute({
  method: 'post',
  path: '/payouts/:id/reject',
  operationId: 'rejectPayout',
  tag: 'Payouts',
  summary: 'Reject a payout',
  description: 'The money is back in the available balance. An approved payout cannot be rejected.',
  scope: 'payouts:write',
  live: 'session',
  success: { status: 200, description: 'The rejected payout.', schema: payoutView },
  problems: ['payout_not_open'],
  exists: payoutExists,

  handler: async (deps, { tenant, id, callerId, requestId }) => {
    const by = callerId
    const decided = await decidePayout(deps, {
      tenant,
      source: 'available',
      payoutId: id,
      decision: 'reject',
      by,
      requestId,
    })
    return decidedPayoutView(deps, decided)
  },
})
