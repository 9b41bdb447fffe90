import { randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { VERIFICATION_EVENT_TYPE } from '../core/endpoint/subscriptions.ts'
import { EVENT_SCHEMA_VERSION, eventBody } from '../core/event/envelope.ts'
import type { Pool } from '../db/pool.ts'
import { closeLane } from '../db/queries/delivery-lanes.ts'
import { loadValidSecrets, secretContext } from '../db/queries/endpoint-secrets.ts'
import { loadEndpoint, markVerified, type WebhookEndpoint } from '../db/queries/endpoints.ts'
import { type Tenant, withTransaction } from '../db/transaction.ts'
import { type ChallengeFailure, sendChallenge } from '../delivery/challenge.ts'
import { clientFor, closeClients, openClients } from '../delivery/clients.ts'
import type { ResolveHost } from '../delivery/resolve-host.ts'
import { newId } from '../new-id.ts'
import type { Keyring } from '../secrets/keyring.ts'

const CHALLENGE_BYTES = 32

export type Verification =
  /** The answer was right; the endpoint is enabled, unless it was disabled meanwhile. */
  | { readonly kind: 'verified'; readonly endpoint: WebhookEndpoint }
  | { readonly kind: 'failed'; readonly reason: ChallengeFailure }
  | { readonly kind: 'not_found' }

/**
 * Sends a challenge to an endpoint and, where the answer is right, enables it: a new one, or one that was disabled.
 * A wrong answer leaves it as it was. The event is stored nowhere. The network is reached between two
 * transactions, on connections of this call's own.
 */
export async function verifyEndpoint(
  deps: {
    pool: Pool
    clock: Clock
    keyring: Keyring
    allowPrivateTest: boolean
    resolve?: ResolveHost
    ca?: string | Buffer
  },
  input: { tenant: Tenant; endpointId: string; requestId: string },
): Promise<Verification> {
  const { tenant, endpointId } = input
  const found = await withTransaction(deps.pool, tenant, async (tx) => {
    const endpoint = await loadEndpoint(tx, tenant, endpointId)
    return endpoint === null ? null : { endpoint, sealed: await loadValidSecrets(tx, tenant, endpointId) }
  })
  if (found === null) return { kind: 'not_found' }
  const secrets = found.sealed.map((secret) =>
    deps.keyring.open(secret.sealed, secretContext(tenant.merchantId, secret.id)).toString('utf8'),
  )
  const challenge = randomBytes(CHALLENGE_BYTES).toString('base64url')
  const event = verificationEvent(found.endpoint, challenge, {
    now: deps.clock(),
    requestId: input.requestId,
  })
  const clients = openClients(deps)
  try {
    const http = clientFor(clients, tenant.livemode)
    const result = await sendChallenge({ http, clock: deps.clock }, { ...event, secrets }, challenge)
    if (result.kind === 'failed') return { kind: 'failed', reason: result.reason }
  } finally {
    await closeClients(clients)
  }
  return withTransaction(deps.pool, tenant, async (tx) => {
    const verified = { statusBefore: found.endpoint.status, now: deps.clock() }
    // Whoever disabled it while the challenge was on its way had the last word: the answer shows it as it stands.
    if (await markVerified(tx, tenant, endpointId, verified)) await closeLane(tx, tenant, endpointId)
    const endpoint = await loadEndpoint(tx, tenant, endpointId)
    return endpoint === null ? { kind: 'not_found' } : { kind: 'verified', endpoint }
  })
}

/** The event of one verification, which no table holds: its body and what its headers carry. */
export function verificationEvent(
  endpoint: Pick<WebhookEndpoint, 'id' | 'merchantId' | 'livemode' | 'status' | 'url'>,
  challenge: string,
  context: { now: Date; requestId: string },
) {
  const eventId = newId('event', context.now)
  const body = eventBody({
    id: eventId,
    type: VERIFICATION_EVENT_TYPE,
    merchantId: endpoint.merchantId,
    resourceId: endpoint.id,
    livemode: endpoint.livemode,
    createdAtMs: context.now.getTime(),
    sequence: 1,
    requestId: context.requestId,
    data: { id: endpoint.id, status: endpoint.status, challenge },
  })
  return {
    lane: endpoint.id,
    url: endpoint.url,
    eventId,
    schemaVersion: EVENT_SCHEMA_VERSION,
    body: Buffer.from(body, 'utf8'),
  }
}
