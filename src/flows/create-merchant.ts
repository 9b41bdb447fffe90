import type { AccessSeals } from '../core/people/access-seals.ts'
import { insertMerchant } from '../db/people/merchants.ts'
import type { Pool } from '../postgres/pool.ts'
import { withSystemTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import { commitOrganization } from './steps/commit-organization.ts'
import { findOrMakeOwner } from './steps/find-or-make-owner.ts'

type CreatedMerchant = {
  readonly id: string
  /** By which the owner chooses a first password, once; null for one who has a password, or was given one. */
  readonly passwordToken: string | null
}

/**
 * Makes a merchant, its organization and its owner, with the owner's pool. The owner is the person with that
 * address, who is made where there is none: with a password where one is given, hashed, else with a token to
 * choose it by. Payment rules and keys are made when somebody asks for them.
 */
export async function createMerchant(
  deps: { pool: Pool; clock: Clock; seals: AccessSeals },
  input: { name: string; email: string; passwordHash?: string },
): Promise<CreatedMerchant> {
  const now = deps.clock()
  const id = newId('merchant', now)
  const { name, email } = input
  return withSystemTransaction(deps.pool, async (tx) => {
    await insertMerchant(tx, { id, name, email, createdAt: now })
    const owner = await findOrMakeOwner(tx, deps.seals, input, now)
    const memberId = newId('member', now)
    await commitOrganization(tx, deps.seals, { merchantId: id, name, memberId, ownerId: owner.id, now })
    return { id, passwordToken: owner.passwordToken }
  })
}

/** Another token for a merchant's owner who has not chosen a password yet; null for one who has. */
export function renewPasswordToken(
  deps: { pool: Pool; clock: Clock; seals: AccessSeals },
  email: string,
): Promise<string | null> {
  return withSystemTransaction(
    deps.pool,
    async (tx) => (await findOrMakeOwner(tx, deps.seals, { email }, deps.clock())).passwordToken,
  )
}
