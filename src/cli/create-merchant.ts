import { createMerchant } from '../flows/create-merchant.ts'
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
  const length = [...name].length
  if (length < 1 || length > NAME_LENGTH_MAX || hasControlCharacter(name)) {
    throw new UsageError(`--name must have 1 to ${NAME_LENGTH_MAX} characters and no line break`)
  }
  if (email.length > EMAIL_LENGTH_MAX || !EMAIL.test(email) || hasControlCharacter(email)) {
    throw new UsageError('--email must be an e-mail address such as owner@example.com')
  }
  const made = await withOwnerPool(async (pool, config) => {
    const seals = await openCommandSeals(config, pool)
    const { id, passwordToken } = await createMerchant({ pool, clock: systemClock, seals }, { name, email })
    const setPasswordUrl =
      passwordToken === null ? null : `${config.baseUrl}/dashboard/reset-password?token=${passwordToken}`
    return { id, setPasswordUrl }
  })
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

const hasControlCharacter = (text: string): boolean => /\p{Cc}/u.test(text)
