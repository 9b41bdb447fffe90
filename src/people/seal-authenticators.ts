import type { AccessSeals } from '../core/people/access-seals.ts'
import { loadSealedRow } from '../db/people/access-rows.ts'
import { listUnsealedSecrets, saveTotpSeal } from '../payouts/store/approvers.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'
import { sealTotpSecret } from '../secrets/approval-evidence.ts'

const EVERY_MS = 5_000
const AT_ONCE_MAX = 100

type SealDeps = {
  /** Opens the secret of an authenticator app, which the sign-in library keeps under its own key; null where it cannot. */
  readonly openSecret: (kept: string) => Promise<string | null>
  readonly pool: Pool
  readonly seals: AccessSeals
  readonly clock: Clock
  readonly log: Log
  /** The signer's public key; null until it has published one. */
  readonly signerSealKey: () => Promise<Uint8Array | null>
}

/**
 * Seals the secrets of authenticator apps to the signer, so that it verifies codes by its own copies: new ones, those from
 * before there was a signer's key, and all of them anew where that key has changed.
 */
export async function sealAuthenticators(deps: SealDeps): Promise<void> {
  const { openSecret, pool, seals, clock, log } = deps
  const signerKey = await deps.signerSealKey()
  if (signerKey === null) return
  for (const id of await listUnsealedSecrets(pool, signerKey, AT_ONCE_MAX)) {
    const row = await loadSealedRow(pool, 'twoFactor', id)
    // Copied to somebody else's row with SQL, a thief's secret must not become theirs at the signer.
    if (row === null || !seals.accepts('twoFactor', row)) continue
    const personId = String(row.userId)
    const secret = await openSecret(String(row.secret))
    if (secret === null) {
      log.warn({ personId }, 'the secret of an authenticator app cannot be opened: it approves no payouts')
      continue
    }
    const sealed = sealTotpSecret(signerKey, personId, secret)
    await saveTotpSeal(pool, { id, signerKey, sealed, now: clock() })
  }
}

/** Does so again and again until it is stopped. */
export const keepAuthenticatorsSealed = (deps: SealDeps): { stop(): Promise<void> } =>
  repeat(() => sealAuthenticators(deps), {
    everyMs: EVERY_MS,
    onError: (error) => deps.log.warn({ err: error }, 'authenticator apps could not be sealed to the signer'),
  })
