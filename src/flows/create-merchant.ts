import type { Clock } from '../clock.ts'
import type { Pool } from '../db/pool.ts'
import { insertMerchant } from '../db/queries/merchants.ts'
import { withSystemTransaction } from '../db/transaction.ts'
import { newId } from '../new-id.ts'

/** Makes a merchant, with the owner's pool. Payment rules and keys are made when somebody asks for them. */
export async function createMerchant(
  deps: { pool: Pool; clock: Clock },
  input: { name: string; email: string },
): Promise<{ id: string }> {
  const now = deps.clock()
  const id = newId('merchant', now)
  await withSystemTransaction(deps.pool, (tx) => insertMerchant(tx, { id, ...input, createdAt: now }))
  return { id }
}
