import { endpointExists } from '../../../db/delivery/endpoints.ts'
import { verifyEndpoint } from '../../../flows/verify-endpoint.ts'
import { webhookEndpointView } from '../../../wire/webhook-endpoint.ts'
import { endpointViewOf } from '../../views/endpoint-view.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const verifyWebhookEndpointRoute = defineRoute({
  method: 'post',
  path: '/webhook-endpoints/:id/verify',
  operationId: 'verifyWebhookEndpoint',
  tag: 'Webhook endpoints',
  summary: 'Verify a webhook endpoint',
  description:
    'Sends a signed `webhook.endpoint_verification` event. The receiver checks the signature and answers 2xx with `{"challenge": "<data.challenge>"}` within 10 seconds and under 1 KiB. The endpoint is then enabled, also one that was disabled. An endpoint of an older service’s format is sent an event of that service’s that tells of nothing, once signed with its secret and twice with another, and must take the one and refuse the others.',
  scope: 'webhooks:write',
  live: 'session',
  success: { status: 200, description: 'The endpoint, verified and enabled.', schema: webhookEndpointView },
  problems: ['endpoint_verification_failed'],
  exists: endpointExists,

  handler: async (deps, { tenant, id, requestId }) => {
    const verification = await verifyEndpoint(
      { ...deps, allowPrivateTest: deps.webhookAllowPrivate, formats: deps.webhookFormats?.known ?? {} },
      { tenant, endpointId: id, requestId },
    )
    if (verification.kind === 'not_found') throw new ApiProblem('not_found')
    if (verification.kind === 'failed') {
      throw new ApiProblem('endpoint_verification_failed', { reason: verification.reason })
    }
    return endpointViewOf(verification.endpoint)
  },
})
