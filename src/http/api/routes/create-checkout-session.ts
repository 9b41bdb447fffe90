import { parseUsd } from '../../../core/money.ts'
import { paymentLinkExists } from '../../../db/checkout/payment-links.ts'
import { answerForOrder, createCheckoutSession } from '../../../flows/create-checkout-session.ts'
import { checkoutSessionView, createCheckoutSessionBody } from '../../../wire/payment-link.ts'
import { checkoutSessionViewOf, refuseReturnUrl } from '../../views/checkout-views.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const createCheckoutSessionRoute = defineRoute({
  method: 'post',
  path: '/payment-links/:id/checkout-sessions',
  operationId: 'createCheckoutSession',
  tag: 'Checkout sessions',
  summary: 'Create a checkout session',
  description:
    'One for each order, on a link with dynamic amounts. The same order reference with the same link, amount, duration and mode is answered with the session that exists, 200 and `replayed: true`, also after it has expired; anything else under that reference is a conflict. This rule comes before the Idempotency-Key. No payment exists until the buyer continues.',
  scope: 'checkout_sessions:write',
  body: createCheckoutSessionBody,
  example: { order_reference: 'order-1042', usd_amount: '49.99', expires_in_minutes: 30 },
  success: {
    status: 201,
    description: 'The session was created.',
    found: 'The session that this order has already, with `replayed: true`.',
    schema: checkoutSessionView,
  },
  problems: [
    'dynamic_amount_not_allowed',
    'amount_too_small',
    'amount_too_large',
    'asset_not_accepted',
    'order_reference_conflict',
    'payment_link_inactive',
  ],
  exists: paymentLinkExists,

  prepare: async (deps, { tenant, id, body }) => ({
    market: await deps.marketOf(tenant),
    asked: {
      paymentLinkId: id,
      orderReference: body.order_reference,
      // The schema has made sure of the grammar.
      usdCents: parseUsd(body.usd_amount) ?? 0n,
      askedMinutes: body.expires_in_minutes ?? null,
      returnUrl: body.return_url ?? null,
    },
  }),

  answerFirst: async (deps, { tenant, body }, tx, { market, asked }) => {
    refuseReturnUrl(body.return_url, tenant.livemode)
    const answer = await answerForOrder(tx, tenant, asked, { market, nowMs: deps.clock().getTime() })
    switch (answer.kind) {
      case 'new':
        return null
      case 'standing':
        return { status: 200, view: checkoutSessionViewOf(deps, answer, true) }
      case 'refused':
        throw new ApiProblem(answer.code, { param: answer.param })
      case 'order_reference_conflict':
        throw new ApiProblem(answer.kind, { param: 'order_reference' })
      default:
        throw new ApiProblem(answer.kind)
    }
  },

  create: async (deps, { tenant }, tx, { market, asked }) => {
    const created = await createCheckoutSession(tx, tenant, asked, { market, now: deps.clock() })
    if (created === null) throw new ApiProblem('order_reference_conflict', { param: 'order_reference' })
    return { view: checkoutSessionViewOf(deps, { ...created, invoice: null }) }
  },
})
