import { decidePayout } from '../../../payouts/decide-payout.ts'
import { payoutExists } from '../../../payouts/store/payouts.ts'
import { approvePayoutBody, payoutView } from '../../../wire/payout.ts'
import { decidedPayoutView } from '../../views/payout-view.ts'
import { evidenceFor } from '../payout-approval.ts'
import { defineRoute } from '../route.ts'

export const approvePayoutRoute = defineRoute({
  method: 'post',
  path: '/payouts/:id/approve',
  operationId: 'approvePayout',
  tag: 'Payouts',
  summary: 'Approve a payout',
  description:
    'From then on it is signed and sent, exactly as it is: its destination, asset and amount cannot change any more. Whoever requested it cannot approve it if there is another owner or admin. In live mode you approve with your passkey, or a code from your authenticator app: `GET /payouts/:id/approval` says which.',
  scope: 'payouts:write',
  live: 'session',
  provesFactor: true,
  body: approvePayoutBody,
  example: { code: '123456' },
  bodyOptional: true,
  success: { status: 200, description: 'The approved payout.', schema: payoutView },
  problems: [
    'approval_evidence_required',
    'approval_evidence_invalid',
    'approver_not_ready',
    'approver_is_requester',
    'payout_not_open',
    'destination_not_usable',
    'payout_limit_exceeded',
  ],
  exists: payoutExists,

  handler: async (deps, { tenant, id, callerId, person, body, requestId }) => {
    const by = callerId
    const evidence =
      tenant.livemode && person !== null ? await evidenceFor(deps, { tenant, id, person }, body) : null
    const decided = await decidePayout(deps, {
      tenant,
      source: 'available',
      payoutId: id,
      decision: 'approve',
      by,
      requestId,
      ...(evidence === null ? {} : { evidence }),
    })
    return decidedPayoutView(deps, decided)
  },
})
