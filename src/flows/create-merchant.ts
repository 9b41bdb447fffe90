import { randomUUID } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { Pool } from '../db/pool.ts'
import { insertMerchant } from '../db/queries/merchants.ts'
import {
  findOrInsertPerson,
  insertOrganization,
  insertPassword,
  insertPasswordToken,
} from '../db/queries/people.ts'
import { type Tx, withSystemTransaction } from '../db/transaction.ts'
import { newId } from '../new-id.ts'
import { randomBase62 } from '../secrets/random-base62.ts'

const TOKEN_LENGTH = 43
const TOKEN_SECONDS = 7 * 24 * 3_600

type CreatedMerchant = {
  readonly id: string
  /** By which the owner chooses a first password, once; null for one who has an account, or was given a password. */
  readonly passwordToken: string | null
}

/**
 * Makes a merchant, its organization and its owner, with the owner's pool. The owner is the person with that
 * address, who is made where there is none: with a password where one is given, hashed, else with a token to
 * choose it by. Payment rules and keys are made when somebody asks for them.
 */
export async function createMerchant(
  deps: { pool: Pool; clock: Clock },
  input: { name: string; email: string; passwordHash?: string },
): Promise<CreatedMerchant> {
  const now = deps.clock()
  const id = newId('merchant', now)
  const { name, email } = input
  return withSystemTransaction(deps.pool, async (tx) => {
    await insertMerchant(tx, { id, name, email, createdAt: now })
    const owner = await findOrMakeOwner(tx, input, now)
    const memberId = newId('member', now)
    await insertOrganization(tx, { merchantId: id, name, memberId, ownerId: owner.id, now })
    return { id, passwordToken: owner.passwordToken }
  })
}

async function findOrMakeOwner(
  tx: Tx,
  input: { email: string; passwordHash?: string },
  now: Date,
): Promise<{ id: string; passwordToken: string | null }> {
  const { passwordHash } = input
  // The sign-in library looks addresses up in lower case.
  const email = input.email.toLowerCase()
  const person = await findOrInsertPerson(tx, {
    id: randomUUID(),
    name: email.split('@')[0] ?? email,
    email,
    isEmailVerified: passwordHash !== undefined,
    now,
  })
  if (!person.isNew) return { id: person.id, passwordToken: null }
  const userId = person.id
  if (passwordHash !== undefined) {
    await insertPassword(tx, { id: randomUUID(), userId, passwordHash, now })
    return { id: userId, passwordToken: null }
  }
  const token = randomBase62(TOKEN_LENGTH)
  const expiresAt = new Date(now.getTime() + TOKEN_SECONDS * 1_000)
  await insertPasswordToken(tx, { id: randomUUID(), userId, token, expiresAt, now })
  return { id: userId, passwordToken: token }
}
