import { randomUUID } from 'node:crypto'
import type { EndpointFormat } from '../core/endpoint/subscriptions.ts'
import { insertSecret, secretContext } from '../db/delivery/endpoint-secrets.ts'
import {
  countEndpoints,
  insertEndpoint,
  loadEndpoint,
  lockEndpointCreation,
  type WebhookEndpoint,
} from '../db/delivery/endpoints.ts'
import type { Tenant, Tx } from '../postgres/transaction.ts'
import { newId } from '../runtime/new-id.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { newSigningSecret } from '../secrets/signing-secret.ts'

/** Endpoints of one merchant in one mode (decisions: limits and defaults). */
const ENDPOINTS_PER_MODE_MAX = 20

/**
 * Writes an endpoint that still has to be verified, with its first signing secret, which is told here and never
 * again. In the caller's transaction, so that the answer kept under an Idempotency-Key commits with it.
 */
export async function createEndpoint(
  deps: { keyring: Keyring },
  tx: Tx,
  input: {
    tenant: Tenant
    url: string
    subscribedEvents: readonly string[]
    format: EndpointFormat
    now: Date
  },
): Promise<{ kind: 'created'; endpoint: WebhookEndpoint; secret: string } | { kind: 'limit_reached' }> {
  const { tenant, now } = input
  await lockEndpointCreation(tx, tenant)
  if ((await countEndpoints(tx, tenant)) >= ENDPOINTS_PER_MODE_MAX) return { kind: 'limit_reached' }
  const id = newId('webhookEndpoint', now)
  await insertEndpoint(tx, tenant, {
    id,
    url: input.url,
    subscribedEvents: input.subscribedEvents,
    format: input.format,
    createdAt: now,
  })
  const secret = newSigningSecret()
  const secretId = randomUUID()
  await insertSecret(tx, tenant, {
    id: secretId,
    endpointId: id,
    sealed: deps.keyring.seal(Buffer.from(secret, 'utf8'), secretContext(tenant.merchantId, secretId)),
    createdAt: now,
  })
  const endpoint = await loadEndpoint(tx, tenant, id)
  if (endpoint === null) throw new Error(`endpoint ${id} is not there right after it was written`)
  return { kind: 'created', endpoint, secret }
}
