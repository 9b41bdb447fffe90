import type { Clock } from '../clock.ts'
import type { Pool } from '../db/pool.ts'
import { insertApiKey } from '../db/queries/api-keys.ts'
import { merchantExists } from '../db/queries/merchants.ts'
import { withSystemTransaction } from '../db/transaction.ts'
import { hashApiKey, newApiKey } from '../new-api-key.ts'
import { newId } from '../new-id.ts'
import type { Scope } from '../wire/scopes.ts'

/**
 * Makes an API key. The key itself is in the answer and nowhere else. Needs the owner's pool: the API's database
 * role cannot write keys.
 */
export async function createApiKey(
  deps: { pool: Pool; clock: Clock },
  input: { merchantId: string; livemode: boolean; scopes: readonly Scope[] },
): Promise<{ kind: 'created'; id: string; key: string } | { kind: 'merchant_not_found' }> {
  return withSystemTransaction(deps.pool, async (tx) => {
    if (!(await merchantExists(tx, input.merchantId))) return { kind: 'merchant_not_found' }
    const now = deps.clock()
    const id = newId('apiKey', now)
    const key = newApiKey(input.livemode)
    const { merchantId, livemode, scopes } = input
    await insertApiKey(tx, { id, merchantId, livemode, keyHash: hashApiKey(key), scopes, createdAt: now })
    return { kind: 'created', id, key }
  })
}
