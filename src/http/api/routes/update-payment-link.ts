import { parseUsd } from '../../../core/money.ts'
import { paymentLinkExists } from '../../../db/checkout/payment-links.ts'
import { changePaymentLink } from '../../../flows/change-payment-link.ts'
import { paymentLinkView, updatePaymentLinkBody } from '../../../wire/payment-link.ts'
import { paymentLinkViewOf } from '../../views/checkout-views.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const updatePaymentLinkRoute = defineRoute({
  method: 'patch',
  path: '/payment-links/:id',
  operationId: 'updatePaymentLink',
  tag: 'Payment links',
  summary: 'Change a payment link',
  description:
    'Omitted fields stay as they are. Existing checkout sessions and invoices keep their amounts and deadlines.',
  scope: 'payment_links:write',
  body: updatePaymentLinkBody,
  example: { active: false },
  success: { status: 200, description: 'The payment link as it is now.', schema: paymentLinkView },
  problems: ['amount_too_small', 'amount_too_large', 'asset_not_accepted', 'rate_unavailable'],
  exists: paymentLinkExists,

  handler: async (deps, { tenant, id, body }) => {
    const { active, name, duration_minutes: durationMinutes, usd_amount: usdAmount } = body
    const outcome = await changePaymentLink(deps, {
      tenant,
      linkId: id,
      changes: {
        ...(active === undefined ? {} : { active }),
        ...(name === undefined ? {} : { name }),
        ...(durationMinutes === undefined ? {} : { durationMinutes }),
        ...(usdAmount === undefined ? {} : { usdCents: usdAmount === null ? null : parseUsd(usdAmount) }),
      },
      market: await deps.marketOf(tenant),
      nowMs: deps.clock().getTime(),
    })
    if (outcome.kind === 'not_found') throw new ApiProblem('not_found')
    if (outcome.kind === 'refused') throw new ApiProblem(outcome.code, { param: outcome.param })
    if (outcome.kind === 'amount_needed') {
      throw new ApiProblem('parameter_invalid', {
        param: 'usd_amount',
        message: 'A link without dynamic amounts needs an amount.',
      })
    }
    return paymentLinkViewOf(deps, outcome.link)
  },
})
