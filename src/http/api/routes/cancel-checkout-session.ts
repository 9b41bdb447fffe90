import { sessionExists } from '../../../db/checkout/checkout-sessions.ts'
import { cancelCheckoutSession } from '../../../flows/cancel-checkout-session.ts'
import { checkoutSessionView } from '../../../wire/payment-link.ts'
import { checkoutSessionViewOf } from '../../views/checkout-views.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

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
