import { payoutExists } from '../../../payouts/store/payouts.ts'
import { approvalChallenge } from '../../../secrets/approval-evidence.ts'
import { payoutApprovalView } from '../../../wire/payout.ts'
import { approvalWaysOf, digestOf, loadPayoutOf } from '../payout-approval.ts'
import { defineRoute } from '../route.ts'

export const getPayoutApprovalRoute = defineRoute({
  method: 'get',
  path: '/payouts/:id/approval',
  operationId: 'getPayoutApproval',
  tag: 'Payouts',
  summary: 'Retrieve what an approval needs',
  description:
    'What you, signed in to the dashboard, approve this payout with: in live mode your passkey signs the challenge, which stands for exactly this payout, or you give a code from your authenticator app.',
  scope: 'payouts:read',
  dashboardOnly: true,
  success: { status: 200, description: 'What the approval needs.', schema: payoutApprovalView },
  problems: [],
  exists: payoutExists,

  handler: async (deps, { tenant, id, callerId }) => {
    const payout = await loadPayoutOf(deps, tenant, id)
    const { method, credentials, readyAt } = tenant.livemode
      ? await approvalWaysOf(deps, tenant, callerId)
      : ({ method: 'none', credentials: [], readyAt: null } as const)
    return {
      object: 'payout_approval' as const,
      payout_id: id,
      livemode: tenant.livemode,
      method,
      challenge: approvalChallenge(digestOf(payout)),
      passkeys: credentials.flatMap((one) => (one.kind === 'passkey' ? [one.credentialId] : [])),
      ready_at: readyAt?.toISOString() ?? null,
    }
  },
})
