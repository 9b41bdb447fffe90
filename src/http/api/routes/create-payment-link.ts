import { totalFault } from '../../../core/checkout/payment-link.ts'
import { parseUsd } from '../../../core/money.ts'
import { createPaymentLink } from '../../../flows/create-payment-link.ts'
import { createPaymentLinkBody, paymentLinkView } from '../../../wire/payment-link.ts'
import { paymentLinkViewOf } from '../../views/checkout-views.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const createPaymentLinkRoute = defineRoute({
  method: 'post',
  path: '/payment-links',
  operationId: 'createPaymentLink',
  tag: 'Payment links',
  summary: 'Create a payment link',
  description:
    'A page that many buyers pay at. With `allow_dynamic_amount` make a checkout session on it for each order; without, every buyer pays `usd_amount`.',
  scope: 'payment_links:write',
  body: createPaymentLinkBody,
  example: {
    name: 'Coffee beans, 1 kg',
    usd_amount: '24.90',
    allow_dynamic_amount: true,
    duration_minutes: 30,
  },
  success: { status: 201, description: 'The link was created.', schema: paymentLinkView },
  problems: ['amount_too_small', 'amount_too_large', 'asset_not_accepted', 'rate_unavailable'],

  prepare: async (deps, { tenant, body }) => {
    const total = {
      usdCents: body.usd_amount === undefined ? null : parseUsd(body.usd_amount),
      asset: body.asset ?? null,
    }
    const market = await deps.marketOf(tenant)
    return { total, fault: totalFault(total, market, deps.clock().getTime()) }
  },

  refuse: (_deps, _request, { fault }) => {
    if (fault !== null && fault.code !== 'rate_unavailable')
      throw new ApiProblem(fault.code, { param: fault.param })
  },

  create: async (deps, { tenant, body }, tx, { total, fault }) => {
    if (fault !== null) throw new ApiProblem(fault.code, { param: fault.param })
    const link = await createPaymentLink(
      tx,
      tenant,
      {
        ...total,
        name: body.name,
        allowDynamicAmount: body.allow_dynamic_amount ?? false,
        durationMinutes: body.duration_minutes ?? null,
      },
      deps.clock(),
    )
    return { view: paymentLinkViewOf(deps, link) }
  },
})
