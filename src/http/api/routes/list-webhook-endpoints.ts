import { listEndpoints } from '../../../db/delivery/endpoints.ts'
import { withTransaction } from '../../../postgres/transaction.ts'
import { pageOf } from '../../../wire/list.ts'
import { listWebhookEndpointsQuery, webhookEndpointList } from '../../../wire/webhook-endpoint.ts'
import { endpointViewOf } from '../../views/endpoint-view.ts'
import { defineRoute } from '../route.ts'

export const listWebhookEndpointsRoute = defineRoute({
  method: 'get',
  path: '/webhook-endpoints',
  operationId: 'listWebhookEndpoints',
  tag: 'Webhook endpoints',
  summary: 'List webhook endpoints',
  description: 'Those of the key’s own mode, newest first.',
  scope: 'webhooks:read',
  query: listWebhookEndpointsQuery,
  success: { status: 200, description: 'A page of endpoints.', schema: webhookEndpointList },
  problems: [],

  handler: async (deps, { tenant, query }) => {
    const page = await withTransaction(deps.pool, tenant, (tx) => listEndpoints(tx, tenant, pageOf(query)))
    return {
      object: 'list' as const,
      url: '/api/v1/webhook-endpoints',
      has_more: page.hasMore,
      data: page.data.map(endpointViewOf),
    }
  },
})
