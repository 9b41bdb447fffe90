import { randomUUID } from 'node:crypto'
import { isSendingSince } from '../db/delivery/deliveries.ts'
import { readDatabaseClock } from '../db/delivery/delivery-upkeep.ts'
import {
  deleteEndedSecretsOf,
  deleteSecrets,
  insertSecret,
  limitCurrentSecret,
  secretContext,
  tryLockRotation,
} from '../db/delivery/endpoint-secrets.ts'
import { loadEndpoint } from '../db/delivery/endpoints.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { newSigningSecret } from '../secrets/signing-secret.ts'

/** The longest an attempt signed before the rotation can still be under way. */
const OLD_SIGNATURES_MS_MAX = 11_000
const LOOK_EVERY_MS = 50
/** A claim that read the old secret may commit just after the first look. */
const CLEAN_LOOKS = 2

type Rotation =
  | { readonly kind: 'rotated'; readonly secret: string; readonly previousValidUntil: Date }
  | { readonly kind: 'not_found' }
  /** Another rotation is in flight, or an overlap lasts and this one would begin a second. */
  | { readonly kind: 'in_progress' }

/**
 * Gives an endpoint a new signing secret. The one before signs beside it for `graceSeconds`; zero ends every older
 * secret at once, and then the answer waits until nothing signed with them is under way any more.
 */
export async function rotateSecret(
  deps: { pool: Pool; clock: Clock; keyring: Keyring },
  input: { tenant: Tenant; endpointId: string; graceSeconds: number },
): Promise<Rotation> {
  const rotation = await writeRotation(deps, input)
  if (rotation.kind === 'rotated' && input.graceSeconds === 0) await oldSignaturesEnded(deps.pool, input)
  return rotation
}

function writeRotation(
  deps: { pool: Pool; clock: Clock; keyring: Keyring },
  input: { tenant: Tenant; endpointId: string; graceSeconds: number },
): Promise<Rotation> {
  const { tenant, endpointId, graceSeconds } = input
  return withTransaction(deps.pool, tenant, async (tx) => {
    // The lock first, the look after it: what an earlier rotation committed is then seen.
    const alone = await tryLockRotation(tx, endpointId)
    const endpoint = await loadEndpoint(tx, tenant, endpointId, { forUpdate: alone })
    if (endpoint === null) return { kind: 'not_found' }
    if (!alone || (graceSeconds > 0 && endpoint.rotationEndsAt !== null)) return { kind: 'in_progress' }

    let previousValidUntil: Date
    if (graceSeconds === 0) {
      await deleteSecrets(tx, tenant, endpointId)
      previousValidUntil = await readDatabaseClock(tx)
    } else {
      await deleteEndedSecretsOf(tx, tenant, endpointId)
      previousValidUntil = await limitCurrentSecret(tx, tenant, endpointId, graceSeconds)
    }
    const secret = newSigningSecret()
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
