import { z } from 'zod'

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
