import { endpointExists } from '../../../db/delivery/endpoints.ts'
import { disableEndpoint } from '../../../flows/disable-endpoint.ts'
import { webhookEndpointView } from '../../../wire/webhook-endpoint.ts'
import { endpointViewOf } from '../../views/endpoint-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const disableWebhookEndpointRoute = defineRoute({
  method: 'post',
  path: '/webhook-endpoints/:id/disable',
  operationId: 'disableWebhookEndpoint',
  tag: 'Webhook endpoints',
  summary: 'Disable a webhook endpoint',
  description:
    'Delivery to it ends until it is verified again. Events that still waited for it await recovery.',
  scope: 'webhooks:write',
  live: 'session',
  success: { status: 200, description: 'The endpoint, disabled.', schema: webhookEndpointView },
  problems: [],
  exists: endpointExists,

  handler: async (deps, { tenant, id }) => {
    const disabled = await disableEndpoint(deps, { tenant, endpointId: id })
    if (disabled.kind === 'not_found') throw new ApiProblem('not_found')
    return endpointViewOf(disabled.endpoint)
  },
})
