import type { z } from 'zod'
import { endpointExists, listEndpoints, loadEndpoint } from '../../../db/delivery/endpoints.ts'
import { listEndpointAttempts } from '../../../db/delivery/event-recovery.ts'
import { verifyEndpoint } from '../../../flows/verify-endpoint.ts'
import {
  createEndpoint,
  disableEndpoint,
  removeEndpoint,
  requestEndpoint,
  rotateSecret,
  updateEndpoint,
} from '../../../flows/webhook-endpoints.ts'
import { type Tenant, withTransaction } from '../../../postgres/transaction.ts'
import { attemptList, listEndpointAttemptsQuery } from '../../../wire/event.ts'
import { pageOf } from '../../../wire/list.ts'
import {
  createdWebhookEndpointView,
  createWebhookEndpointBody,
  GRACE_SECONDS_MAX,
  listWebhookEndpointsQuery,
  rotatedSecretView,
  rotateSecretBody,
  updateWebhookEndpointBody,
  webhookEndpointList,
  webhookEndpointView,
} from '../../../wire/webhook-endpoint.ts'
import { attemptViewOf } from '../../views/attempt-view.ts'
import {
  endpointViewOf,
  refuseEndpointUrl,
  refuseFormat,
  refuseOwnSecret,
  subscriptionsOf,
} from '../../views/endpoint-view.ts'
import { listView } from '../../views/list-view.ts'
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
    const { url, secret, format = 'paylink' } = body
    const asked = { tenant, url, subscribedEvents, format, secret, now: deps.clock() }
    return createdView(await createEndpoint(deps, tx, asked))
  },
})

export const requestWebhookEndpointRoute = defineRoute({
  method: 'post',
  path: '/webhook-endpoint-requests',
  operationId: 'requestWebhookEndpoint',
  tag: 'Webhook endpoints',
  summary: 'Request a webhook endpoint',
  description:
    'For a shop’s plugin with a live key, which may add no endpoint: it stays inactive until an owner or admin verifies it in the dashboard. At most five wait in a mode, and asking again for the same URL replaces the request. `secret` is shown here only.',
  scope: 'webhooks:write',
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

  create: async (deps, { tenant, body, callerId }, tx) => {
    const subscribedEvents = refuseEndpoint(deps, tenant, body)
    const { url, secret, format = 'paylink' } = body
    const asked = { tenant, url, subscribedEvents, format, secret, now: deps.clock() }
    return createdView(await requestEndpoint(deps, tx, { ...asked, requestedBy: callerId }))
  },
})

function createdView(created: Awaited<ReturnType<typeof createEndpoint>>) {
  if (created.kind === 'limit_reached') throw new ApiProblem('endpoint_limit_reached')
  return { view: { ...endpointViewOf(created.endpoint), secret: created.secret } }
}

export const updateWebhookEndpointRoute = defineRoute({
  method: 'patch',
  path: '/webhook-endpoints/:id',
  operationId: 'updateWebhookEndpoint',
  tag: 'Webhook endpoints',
  summary: 'Update a webhook endpoint',
  description:
    'What is left out stays as it is. A new `url` has to be verified: until then no events are sent, and those that waited await recovery.',
  scope: 'webhooks:write',
  live: 'session',
  body: updateWebhookEndpointBody,
  example: { subscribed_events: ['invoice.paid'] },
  success: { status: 200, description: 'The endpoint as it is now.', schema: webhookEndpointView },
  problems: ['endpoint_url_refused', 'event_type_unknown', 'event_type_not_selectable'],
  exists: endpointExists,

  handler: async (deps, { tenant, id, body }) => {
    const before = await withTransaction(deps.pool, tenant, (tx) => loadEndpoint(tx, tenant, id))
    if (before === null) throw new ApiProblem('not_found')
    const { url, subscribed_events } = body
    if (url !== undefined) refuseEndpointUrl(url, mayBePrivate(deps, tenant))
    const updated = await updateEndpoint(deps, {
      tenant,
      endpointId: id,
      ...(url === undefined ? {} : { url }),
      ...(subscribed_events === undefined
        ? {}
        : { subscribedEvents: subscriptionsOf(subscribed_events, before.format) }),
    })
    if (updated.kind === 'not_found') throw new ApiProblem('not_found')
    return endpointViewOf(updated.endpoint)
  },
})

export const listEndpointAttemptsRoute = defineRoute({
  method: 'get',
  path: '/webhook-endpoints/:id/attempts',
  operationId: 'listEndpointAttempts',
  tag: 'Webhook endpoints',
  summary: 'List an endpoint’s delivery attempts',
  description:
    'Newest first, of the newest 10,000 of all endpoints. Attempts are kept for 30 days; what a receiver answered is never kept, but for its status.',
  scope: 'events:read',
  query: listEndpointAttemptsQuery,
  success: { status: 200, description: 'A page of attempts.', schema: attemptList },
  problems: [],
  exists: endpointExists,

  handler: async (deps, { tenant, id, query }) => {
    const page = await withTransaction(deps.pool, tenant, async (tx) => {
      if (!(await endpointExists(tx, tenant, id))) return null
      return listEndpointAttempts(tx, tenant, id, {
        ...pageOf(query),
        failedOnly: query.outcome === 'failed',
      })
    })
    if (page === null) throw new ApiProblem('not_found')
    return listView(`/webhook-endpoints/${id}/attempts`, page.hasMore, page.attempts.map(attemptViewOf))
  },
})

const mayBePrivate = (deps: RouteDeps, tenant: Tenant): boolean =>
  deps.webhookAllowPrivate && (!tenant.livemode || deps.staging === true)

/** Throws the 400s; the event types to store. */
function refuseEndpoint(
  deps: RouteDeps,
  tenant: Tenant,
  body: z.output<typeof createWebhookEndpointBody>,
): readonly string[] {
  const { url, subscribed_events, secret, format = 'paylink' } = body
  refuseEndpointUrl(url, mayBePrivate(deps, tenant))
  refuseFormat(format, deps.webhookFormats?.offered ?? [])
  const subscriptions = subscriptionsOf(subscribed_events, format)
  refuseOwnSecret(secret, format)
  return subscriptions
}

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

export const verifyWebhookEndpointRoute = defineRoute({
  method: 'post',
  path: '/webhook-endpoints/:id/verify',
  operationId: 'verifyWebhookEndpoint',
  tag: 'Webhook endpoints',
  summary: 'Verify a webhook endpoint',
  description:
    'Sends a signed `webhook.endpoint_verification` event. The receiver checks the signature and answers 2xx with `{"challenge": "<data.challenge>"}` within 10 seconds and under 1 KiB. The endpoint is then enabled, even if it was disabled. An endpoint with an older service’s format is sent a test event of that service: once signed with its secret, and twice with another secret. It must accept the first and refuse the others.',
  scope: 'webhooks:write',
  live: 'session',
  awaitsReceiver: true,
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
  awaitsReceiver: true,
  body: rotateSecretBody,
  bodyOptional: true,
  example: { grace_seconds: 3600 },
  success: { status: 200, description: 'The new secret, shown once.', schema: rotatedSecretView },
  problems: ['rotation_in_progress', 'rotation_loses_events'],
  exists: endpointExists,

  handler: async (deps, { tenant, id, body }) => {
    const graceSeconds = body.grace_seconds ?? GRACE_SECONDS_MAX
    if (body.secret !== undefined) {
      const endpoint = await withTransaction(deps.pool, tenant, (tx) => loadEndpoint(tx, tenant, id))
      refuseOwnSecret(body.secret, endpoint?.format ?? 'paylink')
    }
    const { secret } = body
    const rotation = await rotateSecret(deps, { tenant, endpointId: id, graceSeconds, secret })
    if (rotation.kind === 'not_found') throw new ApiProblem('not_found')
    if (rotation.kind === 'refuses_silently') throw new ApiProblem('rotation_loses_events')
    if (rotation.kind === 'in_progress') throw new ApiProblem('rotation_in_progress')
    return {
      id,
      secret: rotation.secret,
      previous_secret_valid_until: rotation.previousValidUntil.toISOString(),
    }
  },
})

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
