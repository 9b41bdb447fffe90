import { randomBytes } from 'node:crypto'
import { VERIFICATION_EVENT_TYPE } from '../core/endpoint/subscriptions.ts'
import { EVENT_SCHEMA_VERSION, eventBody } from '../core/event/envelope.ts'
import { markRecovered } from '../db/delivery/endpoint-queues.ts'
import { loadValidSecrets, secretContext } from '../db/delivery/endpoint-secrets.ts'
import { isTrialTaken, loadEndpoint, markVerified, type WebhookEndpoint } from '../db/delivery/endpoints.ts'
import {
  type ChallengeFailure,
  type ChallengeResult,
  sendChallenge,
  sendTrial,
} from '../delivery/challenge.ts'
import { clientFor, openClients } from '../delivery/clients.ts'
import { type EventFormats, formatOf, signedIn } from '../delivery/event-format.ts'
import type { HttpClient } from '../delivery/http-client.ts'
import type { ResolveHost } from '../delivery/resolve-host.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { newSigningSecret } from '../secrets/signing-secret.ts'

const CHALLENGE_BYTES = 32

type Verification =
  /** The answer was right; the endpoint is enabled, unless it was disabled or moved meanwhile. */
  | { readonly kind: 'verified'; readonly endpoint: WebhookEndpoint }
  | { readonly kind: 'failed'; readonly reason: ChallengeFailure }
  | { readonly kind: 'not_found' }

/**
 * Sends a challenge to an endpoint and, where the answer is right, enables it: a new one, or one that was disabled.
 * A wrong answer leaves it as it was. Receivers of another format prove themselves as `sendTrial` says. The event is
 * stored nowhere. The network is reached between two transactions, on connections of this call's own.
 */
export async function verifyEndpoint(
  deps: {
    pool: Pool
    clock: Clock
    keyring: Keyring
    allowPrivateTest: boolean
    staging?: boolean
    formats: EventFormats
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
  const clients = openClients(deps)
  let result: ChallengeResult
  try {
    const http = clientFor(clients, tenant.livemode)
    const challenge = { tenant, ...found, secrets, requestId: input.requestId }
    result = await challengeReceiver(deps, http, challenge)
  } finally {
    await clients.close()
  }
  if (result.kind === 'failed') return { kind: 'failed', reason: result.reason }
  const { refusesSilently } = result
  return withTransaction(deps.pool, tenant, async (tx) => {
    const { url, status: statusBefore } = found.endpoint
    const verified = { url, statusBefore, refusesSilently, now: deps.clock() }
    // Whoever disabled or moved it while the challenge was on its way had the last word: the answer shows it as it stands.
    if (await markVerified(tx, tenant, endpointId, verified)) await markRecovered(tx, tenant, endpointId)
    const endpoint = await loadEndpoint(tx, tenant, endpointId)
    return endpoint === null ? { kind: 'not_found' } : { kind: 'verified', endpoint }
  })
}

async function challengeReceiver(
  deps: { pool: Pool; clock: Clock; formats: EventFormats },
  http: HttpClient,
  input: { tenant: Tenant; endpoint: WebhookEndpoint; secrets: readonly string[]; requestId: string },
): Promise<ChallengeResult> {
  const { tenant, endpoint, secrets, requestId } = input
  const now = deps.clock()
  const challenge = randomBytes(CHALLENGE_BYTES).toString('base64url')
  const event = { ...verificationEvent(endpoint, challenge, { now, requestId }), secrets }
  const sender = { http, clock: deps.clock }
  const format = formatOf(deps.formats, endpoint.format)
  if (format === null) return sendChallenge(sender, event, challenge)
  const [secret] = secrets
  if (secret === undefined) throw new Error('nothing to sign with')
  const { id: endpointId, merchantId } = endpoint
  return sendTrial(sender, event, (kind) => {
    const eventId = newId('event', now)
    const body = format.trialBody({ endpointId, merchantId, eventId, now })
    return {
      eventId,
      message: signedIn(format, body, kind === 'signed' ? secret : newSigningSecret()),
      wasTaken: () =>
        withTransaction(deps.pool, tenant, (tx) => isTrialTaken(tx, tenant, endpointId, eventId)),
    }
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
    queue: endpoint.id,
    url: endpoint.url,
    eventId,
    schemaVersion: EVENT_SCHEMA_VERSION,
    body: Buffer.from(body, 'utf8'),
  }
}
