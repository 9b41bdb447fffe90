import { ASSETS } from '../../core/assets.ts'
import { formatCoinAmount } from '../../core/money.ts'
import { renderPayout } from '../../core/payout/render.ts'
import { requestPayout } from '../../flows/request-payout.ts'
import { createPayoutBody, payoutView } from '../../wire/payout.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const createPayoutRoute = defineRoute({
  method: 'post',
  path: '/payouts',
  operationId: 'createPayout',
  tag: 'Payouts',
  summary: 'Ask for a payout',
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
      destinationId: body.destination_id,
      amount: body.amount,
      asset: body.asset ?? null,
      by: callerId,
      rules,
      requestId,
      now: deps.clock(),
    })
    switch (requested.kind) {
      case 'requested':
        return {
          view: renderPayout(requested.payout),
          afterCommit: () => {
            if (requested.deliveries > 0) deps.notifier.deliveriesWaiting()
          },
        }
      case 'not_found':
        throw new ApiProblem('not_found', { param: 'destination_id' })
      case 'invalid':
        throw new ApiProblem('parameter_invalid', requested)
      case 'too_small':
        throw new ApiProblem('payout_too_small', {
          param: 'amount',
          message: `At the network's fees of the moment a payout must be at least ${coins(requested)}.`,
        })
      case 'leaves_crumbs':
        throw new ApiProblem('payout_too_small', {
          param: 'amount',
          message: `What it leaves of the balance could not be sent by itself: pay out all of it, or leave at least ${coins(requested)}.`,
        })
      case 'not_usable':
        throw new ApiProblem('destination_not_usable', { param: 'destination_id' })
      case 'not_covered':
        throw new ApiProblem('balance_insufficient', { param: 'amount' })
      case 'over_limit':
        throw new ApiProblem('payout_limit_exceeded', { param: 'amount' })
      case 'unavailable':
        throw new ApiProblem('payout_unavailable')
    }
  },
})

const coins = ({ asset, minimum }: { asset: keyof typeof ASSETS; minimum: bigint }): string =>
  `${formatCoinAmount(minimum, ASSETS[asset].decimals)} ${ASSETS[asset].symbol}`
