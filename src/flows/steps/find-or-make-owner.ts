import { createHash, randomUUID } from 'node:crypto'
import type { AccessSeals } from '../../core/people/access-seals.ts'
import { loadSealedRow } from '../../db/people/access-rows.ts'
import {
  findOrInsertPerson,
  hasPassword,
  insertPassword,
  insertPasswordToken,
} from '../../db/people/people.ts'
import type { Tx } from '../../postgres/transaction.ts'
import { StartRefused } from '../../runtime/start-refused.ts'
import { randomBase62 } from '../../secrets/random-base62.ts'

const TOKEN_LENGTH = 43
const TOKEN_SECONDS = 7 * 24 * 3_600

/** The person with an address, or a new one; where they have no password, a token to choose it by. */
export async function findOrMakeOwner(
  tx: Tx,
  seals: AccessSeals,
  input: { email: string; passwordHash?: string },
  now: Date,
): Promise<{ id: string; passwordToken: string | null }> {
  const { passwordHash } = input
  // The sign-in library looks addresses up in lower case.
  const email = input.email.toLowerCase()
  const id = randomUUID()
  const isEmailVerified = passwordHash !== undefined
  const person = await findOrInsertPerson(tx, {
    id,
    name: email.split('@')[0] ?? email,
    email,
    isEmailVerified,
    seal: seals.seal('user', { id, email, emailVerified: isEmailVerified }),
    now,
  })
  const userId = person.id
  if (!person.isNew) {
    await requireOwnAccount(tx, seals, userId)
    if (await hasPassword(tx, userId)) return { id: userId, passwordToken: null }
  }
  if (passwordHash === undefined)
    return { id: userId, passwordToken: await addPasswordToken(tx, seals, userId, now) }
  await addPassword(tx, seals, { userId, password: passwordHash, now })
  return { id: userId, passwordToken: null }
}

/**
 * With SQL somebody could give their own account an address for as long as a merchant is made with it; and anybody may
 * have signed up with another's, whose address is not confirmed then.
 */
async function requireOwnAccount(tx: Tx, seals: AccessSeals, personId: string): Promise<void> {
  const person = await loadSealedRow(tx, 'user', personId)
  if (person === null || !seals.accepts('user', person))
    throw new StartRefused(
      'the account with this email address was not written by Paylink: see `paylink access check` before you make it an owner',
    )
  if (person.emailVerified !== true && (await hasPassword(tx, personId)))
    throw new StartRefused(
      'the account with this email address has not confirmed it, and may be a stranger’s: let its owner choose a new password under “Forgot your password?” and confirm the address first',
    )
}

async function addPassword(
  tx: Tx,
  seals: AccessSeals,
  { userId, password, now }: { userId: string; password: string; now: Date },
): Promise<void> {
  const row = { id: randomUUID(), userId, password }
  const seal = seals.seal('account', { ...row, accountId: userId, providerId: 'credential' })
  await insertPassword(tx, { ...row, seal, now })
}

async function addPasswordToken(tx: Tx, seals: AccessSeals, userId: string, now: Date): Promise<string> {
  const token = randomBase62(TOKEN_LENGTH)
  const expiresAt = new Date(now.getTime() + TOKEN_SECONDS * 1_000)
  // As the sign-in library keeps those of its own emails: whoever reads the table learns no token.
  const identifier = createHash('sha256').update(`reset-password:${token}`).digest('base64url')
  const row = { id: randomUUID(), identifier, expiresAt }
  const seal = seals.seal('verification', { ...row, value: userId })
  await insertPasswordToken(tx, { ...row, userId, seal, now })
  return token
}
