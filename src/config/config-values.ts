import { z } from 'zod'
import { DELIVERY_KEY_BYTES } from '../secrets/keyring.ts'
import { WATCHER_KEY_BYTES } from '../secrets/outcome-key.ts'

export type Environment = { readonly [name: string]: string | undefined }

/** The environment is wrong. The message is one line that names the variable and the fix. */
export class ConfigError extends Error {
  override name = 'ConfigError'
}

/** A URL with one of these protocols. */
export const urlOf = (...protocols: string[]) =>
  z
    .string()
    .refine((text) => URL.canParse(text) && protocols.includes(new URL(text).protocol), { abort: true })
export const postgresUrl = urlOf('postgres:', 'postgresql:').refine(
  (text) => new URL(text).pathname.length > 1,
)
export const httpUrl = urlOf('http:', 'https:')
/** An origin: what precedes the path of a URL, as in `https://pay.example.com`. */
export const origin = httpUrl
  .transform((text) => new URL(text))
  .refine((url) => url.pathname === '/' && url.search === '' && url.hash === '' && url.username === '')
  .transform((url) => url.origin)

/** A whole number within bounds, written without leading zeros. */
export const wholeNumber = (min: number, max: number) =>
  z
    .string()
    .regex(/^(0|[1-9][0-9]{0,8})$/)
    .transform(Number)
    .refine((value) => value >= min && value <= max)

/** Parses a variable by a schema; `expectation` completes the error message "NAME must be …". */
export const must =
  <Value>(expectation: string, schema: z.ZodType<Value>) =>
  (name: string, text: string): Value => {
    const result = schema.safeParse(text)
    // The value is not repeated: it may be a secret.
    if (!result.success) throw new ConfigError(`${name} must be ${expectation}`)
    return result.data
  }

/**
 * Reads variables of a group. An empty value counts as absent: that is what `VARIABLE=` in an env file or a compose
 * file means.
 */
export const readerOf =
  <Variables extends { readonly [name: string]: (name: string, text: string) => unknown }>(
    variables: Variables,
  ) =>
  <Name extends keyof Variables & string>(
    env: Environment,
    name: Name,
  ): ReturnType<Variables[Name]> | undefined => {
    const text = env[name]
    return text === undefined || text === ''
      ? undefined
      : (variables[name]?.(name, text) as ReturnType<Variables[Name]>)
  }

export const contractAddress = must(
  'an address such as 0x0123… with 40 hexadecimal digits',
  z.string().regex(/^0x[0-9a-fA-F]{40}$/),
)

export const mintAddress = must(
  'the address of a mint, 32 to 44 characters of base58',
  z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/),
)

export const listenAddress = must(
  'an address to listen on, such as 127.0.0.1 or 0.0.0.0',
  z.string().regex(/^[0-9A-Za-z.:-]{1,253}$/),
)

export const flag = must(
  '1 or 0',
  z.enum(['0', '1']).transform((text) => text === '1'),
)

export const secretKey = z.string().transform(parseKey).pipe(z.instanceof(Uint8Array))
const keyOfBytes = (bytes: number) =>
  z
    .string()
    .regex(/^[0-9a-f]+$/)
    .length(2 * bytes)
    .transform((text): Uint8Array => Buffer.from(text, 'hex'))
export const deliveryKey = keyOfBytes(DELIVERY_KEY_BYTES)
export const watcherKey = keyOfBytes(WATCHER_KEY_BYTES)

/** 32 bytes of hexadecimal or base64 text, or null. */
function parseKey(text: string): Uint8Array | null {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex')
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return null
  const bytes = Buffer.from(text, 'base64')
  return bytes.length === 32 ? bytes : null
}
