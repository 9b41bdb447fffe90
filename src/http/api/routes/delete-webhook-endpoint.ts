import { endpointExists } from '../../../db/delivery/endpoints.ts'
import { removeEndpoint } from '../../../flows/remove-endpoint.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const deleteWebhookEndpointRoute = defineRoute({
  method: 'delete',
  path: '/webhook-endpoints/:id',
  operationId: 'deleteWebhookEndpoint',
  tag: 'Webhook endpoints',
  summary: 'Remove a webhook endpoint',
  description:
    'Delivery to it ends. Events that still waited for it await recovery and go nowhere else by themselves.',
  scope: 'webhooks:write',
  live: 'session',
  success: { status: 204, description: 'The endpoint is gone.' },
  problems: [],
  exists: endpointExists,

  handler: async (deps, { tenant, id }) => {
    const removed = await removeEndpoint(deps, { tenant, endpointId: id })
    if (removed.kind === 'not_found') throw new ApiProblem('not_found')
    return undefined
  },
})
