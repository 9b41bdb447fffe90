import type { Clock } from '../clock.ts'
import type { Pool } from '../db/pool.ts'
import { revokeApiKey as revoke } from '../db/queries/api-keys.ts'
import { withSystemTransaction } from '../db/transaction.ts'

/**
 * Ends an API key for good: within a second no server accepts it. Needs the owner's pool: the API's database role
 * cannot write keys.
 */
export async function revokeApiKey(
  deps: { pool: Pool; clock: Clock },
  id: string,
): Promise<{ kind: 'revoked'; merchantId: string; revokedAt: Date } | { kind: 'key_not_found' }> {
  const revoked = await withSystemTransaction(deps.pool, (tx) => revoke(tx, id, deps.clock()))
  return revoked === null ? { kind: 'key_not_found' } : { kind: 'revoked', ...revoked }
}
