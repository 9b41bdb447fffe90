import { renderPayout } from '../../../core/payout/render.ts'
import { decidePayout } from '../../../payouts/advance-payout.ts'
import { requestPayout } from '../../../payouts/request-payout.ts'
import { payoutDestinationExists } from '../../../payouts/store/payout-destinations.ts'
import { listPayouts, loadPayout, payoutExists } from '../../../payouts/store/payouts.ts'
import { withReadTransaction } from '../../../postgres/standby.ts'
import { withTransaction, withTrialTransaction } from '../../../postgres/transaction.ts'
import { approvalChallenge } from '../../../secrets/approval-evidence.ts'
import { pageOf } from '../../../wire/list.ts'
import {
  approvePayoutBody,
  createPayoutBody,
  listPayoutsQuery,
  payoutApprovalView,
  payoutList,
  payoutQuoteQuery,
  payoutQuoteView,
  payoutView,
} from '../../../wire/payout.ts'
import { listView } from '../../views/list-view.ts'
import { decidedPayoutView, payoutOf, payoutQuoteViewOf } from '../../views/payout-view.ts'
import { approvalWaysOf, digestOf, evidenceFor, loadPayoutOf } from '../payout-approval.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const createPayoutRoute = defineRoute({
  method: 'post',
  path: '/payouts',
  operationId: 'createPayout',
  tag: 'Payouts',
  summary: 'Request a payout',
  description:
    'The amount leaves your available balance at once and is set aside; it comes back if the payout is rejected or fails. Nothing is sent before it is approved. `network_fee` and `net_amount` are estimates until it is submitted: the fee never becomes more than three times what is shown here, nor half of the amount.',
  scope: 'payouts:write',
  body: createPayoutBody,
  example: { destination_id: 'dst_01jd0w5f3e8gqv7n5k2m9x4c6t', amount: '0.5' },
  success: { status: 201, description: 'The payout, waiting for approval.', schema: payoutView },
  problems: [
    'not_found',
    'payout_too_small',
    'balance_insufficient',
    'destination_not_usable',
    'payout_limit_exceeded',
    'payout_unavailable',
  ],

  prepare: (deps, { tenant }) => deps.rulesOf(tenant),

  create: async (deps, { tenant, body, callerId, requestId }, tx, rules) => {
    const requested = await requestPayout(tx, {
      tenant,
      source: 'available',
      destinationId: body.destination_id,
      amount: body.amount,
      asset: body.asset ?? null,
      by: callerId,
      dailyLimits: rules.payoutDailyLimits,
      requestId,
      now: deps.clock(),
    })
    const payout = payoutOf(requested)
    return {
      view: renderPayout(payout),
      afterCommit: () => {
        if (requested.kind === 'requested' && requested.deliveries > 0) deps.notifier.deliveriesWaiting()
      },
    }
  },
})

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
    const { status, asset, q: text } = query
    const page = await withReadTransaction(deps, tenant, (tx) =>
      listPayouts(tx, tenant, pageOf(query), { status, asset, text }),
    )
    return listView('/payouts', page.hasMore, page.payouts.map(renderPayout))
  },
})

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
