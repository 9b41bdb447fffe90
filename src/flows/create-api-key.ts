import type { AccessSeals } from '../core/people/access-seals.ts'
import { countActiveKeys, insertApiKey, lockKeyCreation } from '../db/people/api-keys.ts'
import { merchantExists } from '../db/people/merchants.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withSystemTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import { hashApiKey, newApiKey } from '../secrets/new-api-key.ts'
import type { Scope } from '../wire/scopes.ts'
import { recordAccess } from './steps/record-access.ts'

/** Active keys of one merchant in one mode. */
const ACTIVE_KEYS_MAX = 100
/** Enough to tell keys apart, and four of 43 characters less to guess. */
const SHOWN_CHARACTERS = 4

type CreatedKey =
  | {
      readonly kind: 'created'
      readonly id: string
      readonly key: string
      readonly lastCharacters: string
    }
  | { readonly kind: 'limit_reached' }

/** Makes an API key by command. The key itself is in the answer and nowhere else. */
export async function createApiKey(
  deps: { pool: Pool; clock: Clock; seals: AccessSeals },
  input: { merchantId: string; livemode: boolean; scopes: readonly Scope[] },
): Promise<CreatedKey | { readonly kind: 'merchant_not_found' }> {
  const { merchantId, livemode, scopes } = input
  return withSystemTransaction(deps.pool, async (tx) => {
    if (!(await merchantExists(tx, merchantId))) return { kind: 'merchant_not_found' }
    const tenant = { merchantId, livemode }
    return addApiKey(tx, deps.seals, { tenant, scopes, name: null, createdBy: null, now: deps.clock() })
  })
}

/** Makes an API key within a transaction, unless the merchant has as many as it may. */
export async function addApiKey(
  tx: Tx,
  seals: AccessSeals,
  input: {
    tenant: Tenant
    scopes: readonly Scope[]
    name: string | null
    createdBy: string | null
    now: Date
  },
): Promise<CreatedKey> {
  const { tenant, scopes, name, createdBy, now } = input
  await lockKeyCreation(tx, tenant)
  if ((await countActiveKeys(tx, tenant)) >= ACTIVE_KEYS_MAX) return { kind: 'limit_reached' }
  const id = newId('apiKey', now)
  const key = newApiKey(tenant.livemode)
  const lastCharacters = key.slice(-SHOWN_CHARACTERS)
  const row = { id, ...tenant, keyHash: hashApiKey(key), scopes, name, createdBy, lastCharacters }
  await insertApiKey(tx, { ...row, seal: seals.seal('apiKey', row), createdAt: now })
  await recordAccess(tx, seals, { kind: 'apiKey', ownerId: tenant.merchantId, id })
  return { kind: 'created', id, key, lastCharacters }
}
