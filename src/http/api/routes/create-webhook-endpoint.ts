import type { z } from 'zod'
import { createEndpoint } from '../../../flows/create-endpoint.ts'
import type { Tenant } from '../../../postgres/transaction.ts'
import { createdWebhookEndpointView, createWebhookEndpointBody } from '../../../wire/webhook-endpoint.ts'
import {
  endpointViewOf,
  refuseEndpointUrl,
  refuseFormat,
  subscriptionsOf,
} from '../../views/endpoint-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute, type RouteDeps } from '../route.ts'

export const createWebhookEndpointRoute = defineRoute({
  method: 'post',
  path: '/webhook-endpoints',
  operationId: 'createWebhookEndpoint',
  tag: 'Webhook endpoints',
  summary: 'Create a webhook endpoint',
  description:
    'Store `secret`: it is shown here only. Nothing is sent before the endpoint is verified, and nothing that happened before.',
  scope: 'webhooks:write',
  live: 'session',
  body: createWebhookEndpointBody,
  example: { url: 'https://shop.example/webhooks/paylink', subscribed_events: ['*'] },
  success: { status: 201, description: 'The endpoint, to be verified.', schema: createdWebhookEndpointView },
  problems: [
    'endpoint_url_refused',
    'event_type_unknown',
    'event_type_not_selectable',
    'endpoint_limit_reached',
  ],

  refuse: (deps, { body, tenant }) => void refuseEndpoint(deps, tenant, body),

  create: async (deps, { tenant, body }, tx) => {
    const subscribedEvents = refuseEndpoint(deps, tenant, body)
    const { url, format = 'paylink' } = body
    const created = await createEndpoint(deps, tx, {
      tenant,
      url,
      subscribedEvents,
      format,
      now: deps.clock(),
    })
    if (created.kind === 'limit_reached') throw new ApiProblem('endpoint_limit_reached')
    return { view: { ...endpointViewOf(created.endpoint), secret: created.secret } }
  },
})

/** Throws the 400s; the event types to store. */
function refuseEndpoint(
  deps: RouteDeps,
  tenant: Tenant,
  body: z.output<typeof createWebhookEndpointBody>,
): readonly string[] {
  const { url, subscribed_events, format = 'paylink' } = body
  refuseEndpointUrl(url, deps.webhookAllowPrivate && !tenant.livemode)
  refuseFormat(format, deps.webhookFormats?.offered ?? [])
  return subscriptionsOf(subscribed_events, format)
}
