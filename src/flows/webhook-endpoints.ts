import { randomUUID } from 'node:crypto'
import type { EndpointFormat } from '../core/endpoint/subscriptions.ts'
import { isSendingSince } from '../db/delivery/deliveries.ts'
import { readDatabaseClock, sweepEndpoint } from '../db/delivery/delivery-upkeep.ts'
import { deleteQueue } from '../db/delivery/endpoint-queues.ts'
import {
  deleteEndedSecretsOf,
  deleteSecrets,
  insertSecret,
  limitCurrentSecret,
  secretContext,
  tryLockRotation,
} from '../db/delivery/endpoint-secrets.ts'
import {
  countEndpoints,
  insertEndpoint,
  listRequestedEndpoints,
  loadEndpoint,
  lockEndpointCreation,
  markDisabled,
  markRemoved,
  setSubscriptions,
  setUrl,
  type WebhookEndpoint,
} from '../db/delivery/endpoints.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { newSigningSecret } from '../secrets/signing-secret.ts'

/** Endpoints of one merchant in one mode (decisions: limits and defaults). */
const ENDPOINTS_PER_MODE_MAX = 20
/** Of those, endpoints that API keys asked for and nobody has verified: a key that leaked must not take all the room. */
const REQUESTED_PER_MODE_MAX = 5

/**
 * Writes an endpoint that still has to be verified, with its first signing secret, which is returned here and never
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
    /** In place of a new one. */
    secret?: string | undefined
    requestedBy?: string
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
    requestedBy: input.requestedBy ?? null,
    createdAt: now,
  })
  const secret = input.secret ?? newSigningSecret()
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

/**
 * Writes the endpoint that an API key asks for in live mode. It is like any that is not verified: nothing is sent before a
 * person verifies it. Asking again for the same URL replaces what was asked for before.
 */
export async function requestEndpoint(
  deps: { keyring: Keyring },
  tx: Tx,
  input: Parameters<typeof createEndpoint>[2] & { requestedBy: string },
): ReturnType<typeof createEndpoint> {
  const { tenant, now } = input
  await lockEndpointCreation(tx, tenant)
  const requested = await listRequestedEndpoints(tx, tenant)
  const replaced = requested.filter(({ url }) => url === input.url)
  if (requested.length - replaced.length >= REQUESTED_PER_MODE_MAX) return { kind: 'limit_reached' }
  for (const { id } of replaced) {
    await markRemoved(tx, tenant, id, now)
    await deleteSecrets(tx, tenant, id)
  }
  return createEndpoint(deps, tx, input)
}

/**
 * Ends delivery to an endpoint, until it is verified again. What waits for it moves to the events that await
 * recovery, and goes nowhere else by itself (spec §6.6).
 */
export function disableEndpoint(
  deps: { pool: Pool },
  input: { tenant: Tenant; endpointId: string },
): Promise<{ kind: 'disabled'; endpoint: WebhookEndpoint } | { kind: 'not_found' }> {
  const { tenant, endpointId } = input
  return withTransaction(deps.pool, tenant, async (tx) => {
    if (!(await markDisabled(tx, tenant, endpointId, 'merchant'))) return { kind: 'not_found' }
    await deleteQueue(tx, tenant, endpointId)
    await sweepEndpoint(tx, tenant.merchantId, endpointId, 'disabled')
    const endpoint = await loadEndpoint(tx, tenant, endpointId)
    if (endpoint === null) throw new Error(`endpoint ${endpointId} left while its row was held`)
    return { kind: 'disabled', endpoint }
  })
}

/**
 * Changes where an endpoint's events go and which they are. A new URL has to be verified first: until then what waits
 * for the endpoint awaits recovery, as with one that is disabled.
 */
export function updateEndpoint(
  deps: { pool: Pool },
  input: { tenant: Tenant; endpointId: string; url?: string; subscribedEvents?: readonly string[] },
): Promise<{ kind: 'updated'; endpoint: WebhookEndpoint } | { kind: 'not_found' }> {
  const { tenant, endpointId, url, subscribedEvents } = input
  return withTransaction(deps.pool, tenant, async (tx) => {
    const before = await loadEndpoint(tx, tenant, endpointId, { forUpdate: true })
    if (before === null) return { kind: 'not_found' }
    if (subscribedEvents !== undefined) await setSubscriptions(tx, tenant, endpointId, subscribedEvents)
    if (url !== undefined && url !== before.url) {
      await setUrl(tx, tenant, endpointId, url)
      await deleteQueue(tx, tenant, endpointId)
      await sweepEndpoint(tx, tenant.merchantId, endpointId, 'disabled')
    }
    const endpoint = await loadEndpoint(tx, tenant, endpointId)
    if (endpoint === null) throw new Error(`endpoint ${endpointId} left while its row was held`)
    return { kind: 'updated', endpoint }
  })
}

/** Removes an endpoint with its secrets. What waits for it moves to the events that await recovery. */
export function removeEndpoint(
  deps: { pool: Pool; clock: Clock },
  input: { tenant: Tenant; endpointId: string },
): Promise<{ kind: 'removed' } | { kind: 'not_found' }> {
  const { tenant, endpointId } = input
  return withTransaction(deps.pool, tenant, async (tx) => {
    if (!(await markRemoved(tx, tenant, endpointId, deps.clock()))) return { kind: 'not_found' }
    await deleteSecrets(tx, tenant, endpointId)
    await deleteQueue(tx, tenant, endpointId)
    await sweepEndpoint(tx, tenant.merchantId, endpointId, 'removed')
    return { kind: 'removed' }
  })
}

/** The longest an attempt signed before the rotation can still be under way. */
const OLD_SIGNATURES_MS_MAX = 11_000
const LOOK_EVERY_MS = 50
/** A claim that read the old secret may commit just after the first look. */
const CLEAN_LOOKS = 2

type RotationInput = {
  readonly tenant: Tenant
  readonly endpointId: string
  readonly graceSeconds: number
  /** In place of a new one. */
  readonly secret?: string | undefined
}
type Rotation =
  | { readonly kind: 'rotated'; readonly secret: string; readonly previousValidUntil: Date }
  | { readonly kind: 'not_found' }
  /** A receiver that does not know the new secret would answer 2xx to what it refuses, and nobody would know. */
  | { readonly kind: 'refuses_silently' }
  /** Another rotation is in flight, or an overlap lasts and this one would begin a second. */
  | { readonly kind: 'in_progress' }

/**
 * Gives an endpoint a new signing secret. The one before signs beside it for `graceSeconds`; zero ends every older
 * secret at once, and then the answer waits until nothing signed with them is under way any more.
 */
export async function rotateSecret(
  deps: { pool: Pool; clock: Clock; keyring: Keyring },
  input: RotationInput,
): Promise<Rotation> {
  const rotation = await writeRotation(deps, input)
  if (rotation.kind === 'rotated' && input.graceSeconds === 0) await oldSignaturesEnded(deps.pool, input)
  return rotation
}

function writeRotation(
  deps: { pool: Pool; clock: Clock; keyring: Keyring },
  input: RotationInput,
): Promise<Rotation> {
  const { tenant, endpointId, graceSeconds } = input
  return withTransaction(deps.pool, tenant, async (tx) => {
    // The lock first, the look after it: what an earlier rotation committed is then seen.
    const alone = await tryLockRotation(tx, endpointId)
    const endpoint = await loadEndpoint(tx, tenant, endpointId, { forUpdate: alone })
    if (endpoint === null) return { kind: 'not_found' }
    if (endpoint.refusesSilently) return { kind: 'refuses_silently' }
    if (!alone || (graceSeconds > 0 && endpoint.rotationEndsAt !== null)) return { kind: 'in_progress' }

    let previousValidUntil: Date
    if (graceSeconds === 0) {
      await deleteSecrets(tx, tenant, endpointId)
      previousValidUntil = await readDatabaseClock(tx)
    } else {
      await deleteEndedSecretsOf(tx, tenant, endpointId)
      previousValidUntil = await limitCurrentSecret(tx, tenant, endpointId, graceSeconds)
    }
    const secret = input.secret ?? newSigningSecret()
    const id = randomUUID()
    const sealed = deps.keyring.seal(Buffer.from(secret, 'utf8'), secretContext(tenant.merchantId, id))
    await insertSecret(tx, tenant, { id, endpointId, sealed, createdAt: deps.clock() })
    return { kind: 'rotated', secret, previousValidUntil }
  })
}

async function oldSignaturesEnded(pool: Pool, input: { tenant: Tenant; endpointId: string }): Promise<void> {
  const rotatedAt = await readDatabaseClock(pool)
  const until = performance.now() + OLD_SIGNATURES_MS_MAX
  let cleanLooks = 0
  while (cleanLooks < CLEAN_LOOKS && performance.now() < until) {
    const sending = await withTransaction(pool, input.tenant, (tx) =>
      isSendingSince(tx, input.tenant, input.endpointId, rotatedAt),
    )
    cleanLooks = sending ? 0 : cleanLooks + 1
    if (cleanLooks < CLEAN_LOOKS) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }
}
