import type { Clock } from '../clock.ts'
import type { AccessSeals } from '../core/people/access-seals.ts'
import { commitOrganization } from '../db/commit-organization.ts'
import type { Pool } from '../db/pool.ts'
import { insertMerchant } from '../db/queries/merchants.ts'
import { countMemberships, setActiveMerchant } from '../db/queries/people.ts'
import { withSystemTransaction } from '../db/transaction.ts'
import { newId } from '../new-id.ts'

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
