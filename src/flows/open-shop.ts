import type { AccessSeals } from '../core/people/access-seals.ts'
import { insertMerchant } from '../db/people/merchants.ts'
import { countMemberships, setActiveMerchant } from '../db/people/people.ts'
import type { Pool } from '../postgres/pool.ts'
import { withSystemTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import { commitOrganization } from './steps/commit-organization.ts'

/** One person's organizations, others' invitations included. */
const MEMBERSHIPS_MAX = 20

/**
 * A new merchant with its organization, whose owner is the person, chosen for the sign-in it was opened from.
 */
export async function openShop(
  deps: { pool: Pool; clock: Clock; seals: AccessSeals },
  input: { name: string; personId: string; email: string; sessionId: string | null },
): Promise<{ kind: 'opened'; merchantId: string } | { kind: 'too_many' }> {
  const now = deps.clock()
  const merchantId = newId('merchant', now)
  const { name, email, personId } = input
  return withSystemTransaction(deps.pool, async (tx) => {
    if ((await countMemberships(tx, personId)) >= MEMBERSHIPS_MAX) return { kind: 'too_many' }
    await insertMerchant(tx, { id: merchantId, name, email, createdAt: now })
    const memberId = newId('member', now)
    await commitOrganization(tx, deps.seals, { merchantId, name, memberId, ownerId: personId, now })
    if (input.sessionId !== null) {
      await setActiveMerchant(tx, { sessionId: input.sessionId, merchantId, personId })
    }
    return { kind: 'opened', merchantId }
  })
}
