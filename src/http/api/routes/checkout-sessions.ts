import type { z } from 'zod'
import type { Charge } from '../../../core/checkout/buyer-amount.ts'
import { sessionTotal } from '../../../core/checkout/checkout-session.ts'
import { wholePrice } from '../../../core/invoice/price.ts'
import { listSessions, sessionExists } from '../../../db/checkout/checkout-sessions.ts'
import { loadPaymentLink, paymentLinkExists } from '../../../db/checkout/payment-links.ts'
import { loadInvoicesById } from '../../../db/invoices/invoice-list.ts'
import {
  answerForOrder,
  cancelCheckoutSession,
  createCheckoutSession,
} from '../../../flows/checkout-sessions.ts'
import { loadWholeSession } from '../../../flows/steps/load-session.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { pageOf } from '../../../wire/list.ts'
import {
  checkoutSessionList,
  checkoutSessionView,
  createCheckoutSessionBody,
  listCheckoutSessionsQuery,
} from '../../../wire/payment-link.ts'
import { checkoutSessionViewOf, refuseReturnUrl } from '../../views/checkout-views.ts'
import { listView } from '../../views/list-view.ts'
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
    'rate_unavailable',
    'order_reference_conflict',
    'payment_link_inactive',
  ],
  exists: paymentLinkExists,

  prepare: async (deps, { tenant, id, body }) => {
    const market = await deps.marketOf(tenant)
    const charge = chargeIn(body)
    const request = {
      paymentLinkId: id,
      orderReference: body.order_reference,
      charge,
      total: sessionTotal(charge, market.currencyRateOf),
      requestedMinutes: body.expires_in_minutes ?? null,
      returnUrl: body.return_url ?? null,
    }
    return { market, request }
  },

  answerFirst: async (deps, { tenant, body }, tx, { market, request }) => {
    refuseReturnUrl(body.return_url, tenant.livemode)
    const answer = await answerForOrder(tx, tenant, request, { market, nowMs: deps.clock().getTime() })
    switch (answer.kind) {
      case 'new':
        return null
      case 'existing':
        return { status: 200, view: checkoutSessionViewOf(deps, answer, true) }
      case 'refused':
        throw new ApiProblem(answer.code, { param: answer.param })
      case 'order_reference_conflict':
        throw new ApiProblem(answer.kind, { param: 'order_reference' })
      default:
        throw new ApiProblem(answer.kind)
    }
  },

  create: async (deps, { tenant }, tx, { market, request }) => {
    const created = await createCheckoutSession(tx, tenant, request, { market, now: deps.clock() })
    if (created === null) throw new ApiProblem('order_reference_conflict', { param: 'order_reference' })
    return { view: checkoutSessionViewOf(deps, { ...created, invoice: null }) }
  },
})

/** The schema has made sure of the grammar, and that exactly one of the two is there. */
function chargeIn({ usd_amount: usdAmount, price }: z.output<typeof createCheckoutSessionBody>): Charge {
  const whole = price === undefined ? null : wholePrice(price)
  return whole === null ? { kind: 'usd', usdAmount: usdAmount ?? '' } : { kind: 'price', price: whole }
}

export const listCheckoutSessionsRoute = defineRoute({
  method: 'get',
  path: '/payment-links/:id/checkout-sessions',
  operationId: 'listCheckoutSessions',
  tag: 'Checkout sessions',
  summary: 'List the checkout sessions of a payment link',
  description: 'Newest first. `order_reference` finds the session of one order.',
  scope: 'checkout_sessions:read',
  query: listCheckoutSessionsQuery,
  success: { status: 200, description: 'A page of checkout sessions.', schema: checkoutSessionList },
  problems: [],
  exists: paymentLinkExists,

  handler: (deps, { tenant, id, query }) =>
    withTransaction(deps.pool, tenant, async (tx) => {
      const link = await loadPaymentLink(tx, tenant, id)
      if (link === null) throw new ApiProblem('not_found')
      const page = await listSessions(tx, tenant, {
        ...pageOf(query),
        paymentLinkId: id,
        orderReference: query.order_reference,
      })
      const invoiceIds = page.sessions.flatMap(({ invoiceId }) => (invoiceId === null ? [] : [invoiceId]))
      const invoices = await loadInvoicesById(tx, tenant, invoiceIds)
      const data = page.sessions.map((session) =>
        checkoutSessionViewOf(deps, {
          session,
          link,
          invoice: invoices.get(session.invoiceId ?? '') ?? null,
        }),
      )
      return listView(`/payment-links/${id}/checkout-sessions`, page.hasMore, data)
    }),
})

export const getCheckoutSessionRoute = defineRoute({
  method: 'get',
  path: '/checkout-sessions/:id',
  operationId: 'getCheckoutSession',
  tag: 'Checkout sessions',
  summary: 'Get a checkout session',
  description:
    'Rely on the webhooks of its invoice, not on this status, to know that an order is paid. The status says whether the buyer may still pay.',
  scope: 'checkout_sessions:read',
  success: { status: 200, description: 'The checkout session.', schema: checkoutSessionView },
  problems: [],
  exists: sessionExists,

  handler: async (deps, { tenant, id }) => {
    const found = await withTransaction(deps.pool, tenant, (tx) => loadWholeSession(tx, tenant, id))
    if (found === null) throw new ApiProblem('not_found')
    return checkoutSessionViewOf(deps, found)
  },
})

export const cancelCheckoutSessionRoute = defineRoute({
  method: 'post',
  path: '/checkout-sessions/:id/cancel',
  operationId: 'cancelCheckoutSession',
  tag: 'Checkout sessions',
  summary: 'Cancel a checkout session',
  description:
    'Its URL then opens nothing, and the invoice that the buyer created from it is cancelled too. Rejected once money has been received.',
  scope: 'checkout_sessions:write',
  success: { status: 200, description: 'The cancelled session.', schema: checkoutSessionView },
  problems: ['checkout_session_not_cancellable'],
  exists: sessionExists,

  handler: async (deps, { tenant, id, requestId }) => {
    const { networkFacts } = await deps.networks.read()
    const outcome = await cancelCheckoutSession(deps, { tenant, sessionId: id, networkFacts, requestId })
    if (outcome.kind === 'not_found') throw new ApiProblem('not_found')
    if (outcome.kind === 'not_cancellable') throw new ApiProblem('checkout_session_not_cancellable')
    const { invoice } = outcome.found
    if (invoice !== null) deps.notifier.invoiceChanged(invoice.id)
    return checkoutSessionViewOf(deps, outcome.found)
  },
})
