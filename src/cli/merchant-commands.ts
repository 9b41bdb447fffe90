import { readFile, stat } from 'node:fs/promises'
import type { Config } from '../config/config.ts'
import { parseId } from '../core/ids.ts'
import { NO_SELLER } from '../core/receipt/seller.ts'
import { type BrandingWish, setBranding } from '../flows/branding.ts'
import { createMerchant, renewPasswordToken } from '../flows/create-merchant.ts'
import type { Pool } from '../postgres/pool.ts'
import { systemClock } from '../runtime/clock.ts'
import { encodeLogo, LOGO_BYTES_IN_MAX } from '../runtime/encode-logo.ts'
import { dashboardUrl } from '../runtime/own-cell.ts'
import { updateMerchantBody } from '../wire/dashboard.ts'
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
  const created = await withOwnerPool((pool, config) => createShop(pool, config, { name, email }))
  if (options.json) {
    output.line(JSON.stringify({ id: created.id, name, email, set_password_url: created.setPasswordUrl }))
    return 0
  }
  output.line(
    `Merchant ${name} is ${created.id}. Its first key: paylink key create --merchant ${created.id} …`,
  )
  output.line(
    created.setPasswordUrl === null
      ? `Its owner is ${email}, who has an account already.`
      : `Its owner ${email} chooses a password here, once, within seven days: ${created.setPasswordUrl}`,
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
  return 'must be an email address such as owner@example.com'
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

/** Another such link for somebody of a shop that is there; null for one who has chosen a password. */
export async function renewPasswordUrl(pool: Pool, config: Config, email: string): Promise<string | null> {
  const seals = await openCommandSeals(config, pool)
  return passwordUrl(config, await renewPasswordToken({ pool, clock: systemClock, seals }, email))
}

const passwordUrl = ({ baseUrl }: Config, token: string | null): string | null =>
  token === null ? null : `${dashboardUrl(baseUrl)}/reset-password?token=${token}`

const hasControlCharacter = (text: string): boolean => /\p{Cc}/u.test(text)

export type BrandArguments = {
  readonly merchant: string
  readonly name?: string
  readonly colour?: string
  readonly logo?: string
  readonly legalName?: string
  readonly postalAddress?: readonly string[]
  readonly taxNumber?: string
  readonly reset: boolean
}

const REFUSALS = {
  too_large: `--logo must be a file of at most ${LOGO_BYTES_IN_MAX / 1024} KB`,
  too_many_pixels: '--logo has too many pixels',
  not_a_picture: '--logo must be a PNG, JPEG or WebP picture of at least 8 × 8 pixels',
}

/** `paylink merchant brand`: the name, colour and logo that buyers see, and who sells. What is not given stays as it is. */
export async function brandMerchantCommand(options: BrandArguments, output: Output): Promise<number> {
  if (parseId('merchant', options.merchant) === null)
    throw new UsageError('--merchant must be a merchant’s id')
  const wish = await wishOf(options)
  if (Object.keys(wish).length === 0)
    throw new UsageError(
      'give --name, --colour, --logo, --legal-name, --postal-address, --tax-number or --reset',
    )
  const result = await withOwnerPool((pool) =>
    setBranding({ pool, clock: systemClock }, options.merchant, wish),
  )
  if (result.kind === 'not_found') throw new UsageError(`there is no merchant ${options.merchant}`)
  if (result.kind === 'invalid') {
    const shape = {
      name: '1 to 120 characters and no line break',
      colour: '# and six digits, such as #2b50d8',
    }
    throw new UsageError(`--${result.field} must have ${shape[result.field]}`)
  }
  output.line(`The pages of ${options.merchant} have their new look.`)
  return 0
}

async function wishOf(options: BrandArguments): Promise<BrandingWish> {
  const { name, colour, logo, legalName, postalAddress, taxNumber, reset } = options
  return {
    ...(reset ? { name: null, colour: null, logo: null, ...NO_SELLER } : {}),
    ...(name === undefined ? {} : { name }),
    ...(colour === undefined ? {} : { colour }),
    ...(logo === undefined ? {} : { logo: await logoFrom(logo) }),
    ...(legalName === undefined ? {} : { legalName: sellerPart('--legal-name', 'legal_name', legalName) }),
    ...(postalAddress === undefined
      ? {}
      : { postalAddress: sellerPart('--postal-address', 'postal_address', postalAddress.join('\n')) }),
    ...(taxNumber === undefined ? {} : { taxNumber: sellerPart('--tax-number', 'tax_number', taxNumber) }),
  }
}

/** One of the seller's details, checked as the API checks it. */
function sellerPart(
  option: string,
  field: 'legal_name' | 'postal_address' | 'tax_number',
  value: string,
): string {
  const [issue] = updateMerchantBody.shape[field].safeParse(value).error?.issues ?? []
  if (issue !== undefined) throw new UsageError(`${option} ${issue.message.replace('Must', 'must')}`)
  return value
}

async function logoFrom(path: string) {
  const file = await readSmall(path)
  const encoding =
    file === null ? ({ kind: 'refused', reason: 'too_large' } as const) : await encodeLogo(file)
  if (encoding.kind === 'refused') throw new UsageError(REFUSALS[encoding.reason])
  return encoding.logo
}

async function readSmall(path: string): Promise<Uint8Array | null> {
  try {
    const { size } = await stat(path)
    return size > LOGO_BYTES_IN_MAX ? null : await readFile(path)
  } catch (error) {
    throw new UsageError(`--logo: ${path} cannot be read`, { cause: error })
  }
}
