import type { Config } from '../config/config.ts'
import { createMerchant, renewPasswordToken } from '../flows/create-merchant.ts'
import type { Pool } from '../postgres/pool.ts'
import { systemClock } from '../runtime/clock.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { openCommandSeals } from './open-seals.ts'
import { UsageError } from './usage-error.ts'

const NAME_LENGTH_MAX = 120
const EMAIL_LENGTH_MAX = 254
/** Something on both sides of one `@`, and nothing that ends a line: the rest only the mail server knows. */
const EMAIL = /^[^\s@]+@[^\s@]+$/

/** `paylink merchant create`: makes a merchant with its owner, and prints its id and the link to choose a password by. */
export async function createMerchantCommand(
  options: { name: string; email: string; json: boolean },
  output: Output,
): Promise<number> {
  const { name, email } = options
  const [nameIs, emailIs] = [nameProblem(name), emailProblem(email)]
  if (nameIs !== null) throw new UsageError(`--name ${nameIs}`)
  if (emailIs !== null) throw new UsageError(`--email ${emailIs}`)
  const made = await withOwnerPool((pool, config) => createShop(pool, config, { name, email }))
  if (options.json) {
    output.line(JSON.stringify({ id: made.id, name, email, set_password_url: made.setPasswordUrl }))
    return 0
  }
  output.line(`Merchant ${name} is ${made.id}. Its first key: paylink key create --merchant ${made.id} …`)
  output.line(
    made.setPasswordUrl === null
      ? `Its owner is ${email}, who has an account already.`
      : `Its owner ${email} chooses a password here, once, within seven days: ${made.setPasswordUrl}`,
  )
  return 0
}

/** What is wrong with a merchant's name; null where nothing is. */
export function nameProblem(name: string): string | null {
  const length = [...name].length
  if (length >= 1 && length <= NAME_LENGTH_MAX && !hasControlCharacter(name)) return null
  return `must have 1 to ${NAME_LENGTH_MAX} characters and no line break`
}

export function emailProblem(email: string): string | null {
  if (email.length <= EMAIL_LENGTH_MAX && EMAIL.test(email) && !hasControlCharacter(email)) return null
  return 'must be an e-mail address such as owner@example.com'
}

/** A new merchant, with the link by which its owner chooses a password: null for one who has one already. */
export async function createShop(
  pool: Pool,
  config: Config,
  shop: { name: string; email: string },
): Promise<{ id: string; setPasswordUrl: string | null }> {
  const seals = await openCommandSeals(config, pool)
  const { id, passwordToken } = await createMerchant({ pool, clock: systemClock, seals }, shop)
  return { id, setPasswordUrl: passwordUrl(config, passwordToken) }
}

/** Another such link for the owner of a shop that is there; null for one who has chosen a password. */
export async function renewPasswordUrl(pool: Pool, config: Config, email: string): Promise<string | null> {
  const seals = await openCommandSeals(config, pool)
  return passwordUrl(config, await renewPasswordToken({ pool, clock: systemClock, seals }, email))
}

const passwordUrl = ({ baseUrl }: Config, token: string | null): string | null =>
  token === null ? null : `${baseUrl}/dashboard/reset-password?token=${token}`

const hasControlCharacter = (text: string): boolean => /\p{Cc}/u.test(text)
