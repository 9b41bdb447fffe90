import type { Context, Hono } from 'hono'
import { z } from 'zod'
import {
  createdWebhookEndpointView,
  rotatedSecretView,
  webhookEndpointList,
  webhookEndpointView,
} from '../../wire/webhook-endpoint.ts'
import { type OwnApi, ownId, Refused } from '../own-api.ts'
import { readFields } from '../read-fields.ts'
import { webhookData, webhookRequest } from './greenfield-webhook.ts'
import { Invalid } from './invalid.ts'
import { storeOf } from './store.ts'

/** As many as a mode can have, and more. */
const ENDPOINTS_READ = '100'

/** The webhooks of a store: endpoints of this format alone, because Greenfield has no form for the others. */
export function serveWebhooks(app: Hono, apiOf: (c: Context) => OwnApi): void {
  app.post('/stores/:store/webhooks', (c) => createWebhook(c, apiOf(c)))
  app.get('/stores/:store/webhooks', async (c) => {
    const api = apiOf(c)
    await storeOf(c, api)
    const query = { limit: ENDPOINTS_READ }
    const { data } = await api.call({ method: 'GET', path: '/webhook-endpoints', query }, webhookEndpointList)
    return c.json(data.filter(({ format }) => format === 'btcpay').map(webhookData))
  })
  app.get('/stores/:store/webhooks/:id', async (c) => c.json(webhookData(await readWebhook(c, apiOf(c)))))
  app.put('/stores/:store/webhooks/:id', (c) => updateWebhook(c, apiOf(c)))
  app.delete('/stores/:store/webhooks/:id', async (c) => {
    const api = apiOf(c)
    const { id } = await readWebhook(c, api)
    await api.call({ method: 'DELETE', path: `/webhook-endpoints/${id}` }, z.undefined())
    return c.body(null, 200)
  })
}

async function readWebhook(c: Context, api: OwnApi) {
  await storeOf(c, api)
  const path = `/webhook-endpoints/${ownId(c.req.param('id') ?? '')}`
  const endpoint = await api.call({ method: 'GET', path }, webhookEndpointView)
  if (endpoint.format === 'btcpay') return endpoint
  throw new Refused(404, { code: 'webhook-not-found', message: 'The webhook was not found' })
}

/** In live mode a key may only ask for an endpoint, which a person verifies in the dashboard. */
async function createWebhook(c: Context, api: OwnApi): Promise<Response> {
  const { livemode } = await storeOf(c, api)
  const request = webhookRequest(await readFields(c.req.raw))
  if (request.kind === 'refused') throw new Invalid(request.faults)
  const idempotencyKey = c.req.header('idempotency-key')
  const path = livemode ? '/webhook-endpoint-requests' : '/webhook-endpoints'
  const call = { method: 'POST', path, body: request.body, idempotencyKey } as const
  const endpoint = await api.call(call, createdWebhookEndpointView)
  return c.json({ ...webhookData(endpoint), secret: endpoint.secret })
}

/** Changes the secret. Another URL or other events are another endpoint, which has to be verified. */
async function updateWebhook(c: Context, api: OwnApi): Promise<Response> {
  const endpoint = await readWebhook(c, api)
  const request = webhookRequest(await readFields(c.req.raw))
  if (request.kind === 'refused') throw new Invalid(request.faults)
  const { url, subscribed_events: events, secret } = request.body
  const changed = [
    ...(url === endpoint.url ? [] : ['url']),
    ...(sameTexts(events, endpoint.subscribed_events) ? [] : ['authorizedEvents']),
  ]
  if (changed.length > 0)
    throw new Invalid(
      changed.map((path) => ({ path, message: 'Cannot be changed: create another webhook.' })),
    )
  if (secret !== undefined) {
    const path = `/webhook-endpoints/${endpoint.id}/rotate-secret`
    await api.call({ method: 'POST', path, body: { secret, grace_seconds: 0 } }, rotatedSecretView)
  }
  return c.json(webhookData(endpoint))
}

const sameTexts = (some: unknown, others: readonly string[]): boolean =>
  Array.isArray(some) && some.toSorted().join() === others.toSorted().join()
