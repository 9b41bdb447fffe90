import { sessionExists } from '../../../db/checkout/checkout-sessions.ts'
import { loadWholeSession } from '../../../flows/steps/load-session.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { checkoutSessionView } from '../../../wire/payment-link.ts'
import { checkoutSessionViewOf } from '../../views/checkout-views.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const getCheckoutSessionRoute = defineRoute({
  method: 'get',
  path: '/checkout-sessions/:id',
  operationId: 'getCheckoutSession',
  tag: 'Checkout sessions',
  summary: 'Get a checkout session',
  description:
    'Webhooks of its invoice, and not this status, tell when an order is paid: look here to know whether the buyer may still pay.',
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
