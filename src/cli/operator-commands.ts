import { readFile } from 'node:fs/promises'
import { base32nopad } from '@scure/base'
import {
  findOperator,
  insertOperator,
  listOperators,
  type Operator,
  revokeOperator,
  saveOperatorSecret,
} from '../db/people/operators.ts'
import type { Pool } from '../postgres/pool.ts'
import { systemClock } from '../runtime/clock.ts'
import { newId } from '../runtime/new-id.ts'
import { readSealKey } from '../secrets/address-keys.ts'
import { sealTotpSecret } from '../secrets/approval-evidence.ts'
import { hashApiKey, newOperatorKey, OPERATOR_KEY_PATTERN } from '../secrets/new-api-key.ts'
import { randomBase62 } from '../secrets/random-base62.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { UsageError } from './usage-error.ts'

const NAME_CHARACTERS_MAX = 120
/** 190 bits. */
const SECRET_CHARACTERS = 32

/** `paylink operator create`: makes an operator and prints the key, the only time it is ever shown. */
export async function createOperatorCommand(
  options: { readonly name: string; readonly json: boolean },
  output: Output,
): Promise<number> {
  const name = parseName(options.name)
  const key = newOperatorKey()
  const now = systemClock()
  const id = newId('operator', now)
  await withOwnerPool((pool) => insertOperator(pool, { id, name, createdAt: now, keyHash: hashApiKey(key) }))
  if (options.json) output.line(JSON.stringify({ id, name, key }))
  else {
    output.line(key)
    output.problem(`operator ${id} is known by this key, shown only now: keep it in a file of ${name}'s own`)
  }
  return 0
}

/** `paylink operator list`: who is one, and was. */
export async function listOperatorsCommand(
  options: { readonly json: boolean },
  output: Output,
): Promise<number> {
  const operators = await withOwnerPool((pool) => listOperators(pool))
  if (options.json) {
    const listed = operators.map(({ id, name, createdAt, revokedAt }) => ({
      id,
      name,
      created_at: createdAt.toISOString(),
      revoked_at: revokedAt?.toISOString() ?? null,
    }))
    output.line(JSON.stringify({ operators: listed }))
    return 0
  }
  for (const { id, name, createdAt, revokedAt } of operators) {
    const state = revokedAt === null ? 'works' : `revoked ${revokedAt.toISOString()}`
    output.line(`${id}  created ${createdAt.toISOString()}  ${state}  ${name}`)
  }
  if (operators.length === 0) output.line('No operators.')
  return 0
}

/** `paylink operator authenticator`: a new secret for an authenticator app in place of the one before, shown only now. */
export async function operatorAuthenticatorCommand(
  id: string,
  options: { readonly json: boolean },
  output: Output,
): Promise<number> {
  const secret = randomBase62(SECRET_CHARACTERS)
  await withOwnerPool(async (pool, { addressKeysFile }) => {
    const signerKey = await requireSealKey(addressKeysFile)
    if (!(await saveOperatorSecret(pool, id, sealTotpSecret(signerKey, id, secret))))
      throw new UsageError(`No such operator: ${id}. List operators with paylink operator list.`)
  })
  const shown = base32nopad.encode(Buffer.from(secret))
  const url = `otpauth://totp/Paylink:${id}?secret=${shown}&issuer=Paylink`
  if (options.json) output.line(JSON.stringify({ id, secret: shown, url }))
  else {
    output.line(url)
    output.problem(
      `add this to the authenticator app of ${id}; it is shown only now, and approves live payouts of fees 24 hours after the signer sees it`,
    )
  }
  return 0
}

/** The signer's key that codes and secrets are sealed to. */
export async function requireSealKey(addressKeysFile: string): Promise<Uint8Array> {
  const key = await readSealKey(addressKeysFile)
  if (key !== null) return key
  throw new UsageError(
    `The signer has published no key in ${addressKeysFile}. Start the signer once, or set ADDRESS_KEYS_FILE.`,
  )
}

/** `paylink operator revoke`: ends an operator's key. Ending it again changes nothing. */
export async function revokeOperatorCommand(
  id: string,
  options: { readonly json: boolean },
  output: Output,
): Promise<number> {
  const revokedAt = await withOwnerPool((pool) => revokeOperator(pool, id, systemClock()))
  if (revokedAt === null)
    throw new UsageError('there is no operator of that id: paylink operator list shows the ids')
  const revoked_at = revokedAt.toISOString()
  output.line(options.json ? JSON.stringify({ id, revoked_at }) : `${id} was revoked at ${revoked_at}`)
  return 0
}

/** A name of at most 120 characters that stays on its line. */
export function parseName(given: string): string {
  const name = given.trim()
  if (name === '' || name.length > NAME_CHARACTERS_MAX || /\p{Cc}/u.test(name))
    throw new UsageError(`--name must be 1 to ${NAME_CHARACTERS_MAX} characters in one line`)
  return name
}

/** Who gives a command, by the key in their file. */
export async function operatorOf(pool: Pool, keyFile: string): Promise<Operator> {
  const text = await readFile(keyFile, 'utf8').catch((error: unknown) => {
    throw new UsageError(`--key-file ${keyFile} cannot be read`, { cause: error })
  })
  const key = text.trim()
  const operator = OPERATOR_KEY_PATTERN.test(key) ? await findOperator(pool, hashApiKey(key)) : null
  if (operator === null)
    throw new UsageError(
      `--key-file ${keyFile} holds no key of an operator: paylink operator create makes one`,
    )
  return operator
}
