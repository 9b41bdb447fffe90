import { payoutExists } from '../../db/queries/payouts.ts'
import { decidePayout } from '../../flows/decide-payout.ts'
import { payoutView } from '../../wire/payout.ts'
import { decidedPayoutView } from '../payout-view.ts'
import { defineRoute } from '../route.ts'

export const approvePayoutRoute = defineRoute({
  method: 'post',
  path: '/payouts/:id/approve',
  operationId: 'approvePayout',
  tag: 'Payouts',
  summary: 'Approve a payout',
  description:
    'From then on it is signed and sent, exactly as it is: its destination, asset and amount cannot change any more. Whoever requested it cannot approve it if there is another owner or admin.',
  scope: 'payouts:write',
  live: 'session',
  success: { status: 200, description: 'The approved payout.', schema: payoutView },
  problems: ['approver_is_requester', 'payout_not_open', 'destination_not_usable', 'payout_limit_exceeded'],
  exists: payoutExists,

  handler: async (deps, { tenant, id, callerId, requestId }) => {
    const by = callerId
    const decided = await decidePayout(deps, {
      tenant,
      source: 'available',
      payoutId: id,
      decision: 'approve',
      by,
      requestId,
    })
    return decidedPayoutView(deps, decided)
  },
})
