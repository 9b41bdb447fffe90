import { endpointExists, loadEndpoint } from '../../../db/delivery/endpoints.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { webhookEndpointView } from '../../../wire/webhook-endpoint.ts'
import { endpointViewOf } from '../../views/endpoint-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const getWebhookEndpointRoute = defineRoute({
  method: 'get',
  path: '/webhook-endpoints/:id',
  operationId: 'getWebhookEndpoint',
  tag: 'Webhook endpoints',
  summary: 'Get a webhook endpoint',
  scope: 'webhooks:read',
  success: { status: 200, description: 'The endpoint, without its secret.', schema: webhookEndpointView },
  problems: [],
  exists: endpointExists,

  handler: async (deps, { tenant, id }) => {
    const endpoint = await withTransaction(deps.pool, tenant, (tx) => loadEndpoint(tx, tenant, id))
    if (endpoint === null) throw new ApiProblem('not_found')
    return endpointViewOf(endpoint)
  },
})
