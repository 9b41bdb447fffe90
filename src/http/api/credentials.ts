import { CELL_HEADER, cellOfTag, cellTag } from '../../core/cells.ts'
import type { AccessSeals } from '../../core/people/access-seals.ts'
import { findApiKey } from '../../db/people/api-keys.ts'
import type { MemberRole } from '../../db/people/people.ts'
import type { Pool } from '../../postgres/pool.ts'
import type { Tenant } from '../../postgres/transaction.ts'
import { ownCell } from '../../runtime/own-cell.ts'
import { API_KEY_PATTERN, hashApiKey } from '../../secrets/new-api-key.ts'
import { ApiProblem } from './problem.ts'
import { createShortCache } from './short-cache.ts'

/** The caller. Merchant, mode and rights come from the credential and from nowhere else. */
export type Credential = {
  /** The API key's id, or the person's: the name in records. */
  readonly callerId: string
  readonly tenant: Tenant
  readonly scopes: ReadonlySet<string>
  /** Who is signed in to the dashboard; null for an API key. */
  readonly person: SignedIn | null
}

/** A person at the dashboard. */
export type SignedIn = {
  readonly personId: string
  readonly role: MemberRole
  /** When this sign-in last proved a second factor. */
  readonly secondFactorAtMs: number | null
}

/** Throws `api_key_missing`, `api_key_invalid` or `cell_wrong`. */
export type Authenticate = (authorization: string | undefined) => Promise<Credential>

const BEARER = /^bearer +(\S+)$/i

/** Reads Bearer keys. A key that was revoked is refused within a second. */
export function createAuthenticate(
  { pool, seals }: { pool: Pool; seals: AccessSeals },
  elapsedMs: () => number,
): Authenticate {
  const known = createShortCache<Credential | null>({
    load: (keyHash) => loadCredential(pool, seals, keyHash),
    keep: (credential) => credential !== null,
    elapsedMs,
  })
  return async (authorization) => {
    if (authorization === undefined || authorization === '') throw unauthenticated('api_key_missing')
    const key = BEARER.exec(authorization)?.[1]
    const shape = API_KEY_PATTERN.exec(key ?? '')
    if (key === undefined || shape === null) throw unauthenticated('api_key_invalid')
    const cell = cellOfTag(shape[1])
    if (cell === null) throw unauthenticated('api_key_invalid')
    // One of another cell is here if its merchant moved.
    const credential = await known.get(hashApiKey(key).toString('hex'))
    if (credential === null && cell !== ownCell())
      throw new ApiProblem('cell_wrong', { headers: { [CELL_HEADER]: cellTag(cell) } })
    if (credential === null) throw unauthenticated('api_key_invalid')
    return credential
  }
}

async function loadCredential(pool: Pool, seals: AccessSeals, keyHash: string): Promise<Credential | null> {
  const row = await findApiKey(pool, Buffer.from(keyHash, 'hex'))
  if (row === null || !seals.accepts('apiKey', row)) return null
  return {
    callerId: row.id,
    person: null,
    tenant: { merchantId: row.merchantId, livemode: row.livemode },
    scopes: new Set(row.scopes),
  }
}

const unauthenticated = (code: 'api_key_missing' | 'api_key_invalid'): ApiProblem =>
  new ApiProblem(code, { headers: { 'www-authenticate': 'Bearer' } })
