import { renderPayout } from '../../../core/payout/render.ts'
import { requestPayout } from '../../../payouts/request-payout.ts'
import { createPayoutBody, payoutView } from '../../../wire/payout.ts'
import { payoutOf } from '../../views/payout-view.ts'
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
