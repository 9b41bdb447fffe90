import { endpointExists } from '../../../db/delivery/endpoints.ts'
import { rotateSecret } from '../../../flows/rotate-secret.ts'
import { GRACE_SECONDS_MAX, rotatedSecretView, rotateSecretBody } from '../../../wire/webhook-endpoint.ts'
import { ApiProblem } from '../problem.ts'
import { defineRoute } from '../route.ts'

export const rotateWebhookSecretRoute = defineRoute({
  method: 'post',
  path: '/webhook-endpoints/:id/rotate-secret',
  operationId: 'rotateWebhookSecret',
  tag: 'Webhook endpoints',
  summary: 'Rotate a signing secret',
  description:
    'Both secrets sign during the overlap. `grace_seconds: 0` is for a secret that leaked: it ends every older secret before the answer is given.',
  scope: 'webhooks:write',
  live: 'session',
  body: rotateSecretBody,
  bodyOptional: true,
  example: { grace_seconds: 3600 },
  success: { status: 200, description: 'The new secret, shown once.', schema: rotatedSecretView },
  problems: ['rotation_in_progress'],
  exists: endpointExists,

  handler: async (deps, { tenant, id, body }) => {
    const graceSeconds = body.grace_seconds ?? GRACE_SECONDS_MAX
    const rotation = await rotateSecret(deps, { tenant, endpointId: id, graceSeconds })
    if (rotation.kind === 'not_found') throw new ApiProblem('not_found')
    if (rotation.kind === 'in_progress') throw new ApiProblem('rotation_in_progress')
    return {
      id,
      secret: rotation.secret,
      previous_secret_valid_until: rotation.previousValidUntil.toISOString(),
    }
  },
})
