import { readFile, stat } from 'node:fs/promises'
import { parseId } from '../core/ids.ts'
import { type BrandingWish, setBranding } from '../flows/set-branding.ts'
import { systemClock } from '../runtime/clock.ts'
import { encodeLogo, LOGO_BYTES_IN_MAX } from '../runtime/encode-logo.ts'
import { type Output, withOwnerPool } from './command-context.ts'
import { UsageError } from './usage-error.ts'

export type BrandArguments = {
  readonly merchant: string
  readonly name?: string
  readonly colour?: string
  readonly logo?: string
  readonly reset: boolean
}

const REFUSALS = {
  too_large: `--logo must be a file of at most ${LOGO_BYTES_IN_MAX / 1024} KB`,
  too_many_pixels: '--logo has too many pixels',
  not_a_picture: '--logo must be a PNG, JPEG or WebP picture of at least 8 × 8 pixels',
}

/** `paylink merchant brand`: the name, colour and logo that buyers see. What is not given stays as it is. */
export async function brandMerchantCommand(options: BrandArguments, output: Output): Promise<number> {
  if (parseId('merchant', options.merchant) === null)
    throw new UsageError('--merchant must be a merchant’s id')
  const wish = await wishOf(options)
  if (Object.keys(wish).length === 0) throw new UsageError('give --name, --colour, --logo or --reset')
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

async function wishOf({ name, colour, logo, reset }: BrandArguments): Promise<BrandingWish> {
  return {
    ...(reset ? { name: null, colour: null, logo: null } : {}),
    ...(name === undefined ? {} : { name }),
    ...(colour === undefined ? {} : { colour }),
    ...(logo === undefined ? {} : { logo: await logoFrom(logo) }),
  }
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
