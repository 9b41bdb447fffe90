import { z } from 'zod'
import { idPattern } from '../core/ids.ts'
import { CURRENCIES, currencyDecimals } from '../core/rates/currencies.ts'

/** Letters as people count them: code points, which is also what JSON Schema's `maxLength` counts. */
function lengthOf(text: string): number {
  let length = 0
  for (const _ of text) length += 1
  return length
}

/** A text of `min` to `max` characters. Nothing is trimmed. */
export function text(min: number, max: number) {
  return z
    .string()
    .refine((value) => lengthOf(value) >= min && lengthOf(value) <= max, {
      error: min === 0 ? `Must have at most ${max} characters` : `Must have ${min} to ${max} characters`,
    })
    .meta({ ...(min === 0 ? {} : { minLength: min }), maxLength: max })
}

const isLines = (found: readonly string[], linesMax: number): boolean =>
  found.length <= linesMax && found.every((one) => /\S/.test(one) && !/\p{Cc}/u.test(one))

/** A text of `min` to `max` characters in at most so many lines, each with a word; no control characters. */
export const lines = (min: number, max: number, linesMax: number) =>
  text(min, max).refine((value) => isLines(value.split('\n', linesMax + 1), linesMax), {
    error:
      linesMax === 1
        ? 'Must be words on one line, without control characters'
        : `Must be at most ${linesMax} lines of words, none empty, without control characters`,
  })

/** The same of one line. */
export const line = (min: number, max: number) => lines(min, max, 1)

/** A picture's file. No request is longer than one may be; what it holds is checked where it is encoded. */
export const picture = z
  .string()
  .regex(/^[A-Za-z0-9+/]+={0,2}$/, 'Must be a PNG, JPEG or WebP picture in base64')

/** The shop's page that a buyer goes back to. Which schemes are taken depends on the mode, and is checked with it. */
/** Of a page that a buyer is sent back to, before and after the invoice's id is put in. */
export const RETURN_URL_LENGTH_MAX = 2_048
export const returnUrl = text(1, RETURN_URL_LENGTH_MAX).meta({
  format: 'uri',
  description:
    'Your page to which the buyer goes back: a button on the payment’s page once nothing is to be sent any more. Https; in test mode also http on localhost. `{INVOICE_ID}` in it becomes the invoice’s id. Coming back proves no payment.',
})

/** A US dollar amount as it is asked for. What it may be is checked with the asset's limits. */
export const usdAmount = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,5})(\.[0-9]{1,2})?$/, 'Must be a dollar amount such as "49.99"')
  .meta({ examples: ['49.99'] })

/** An amount of a currency other than the US dollar, with as many decimals as the currency has, or fewer. */
export const currencyAmount = z
  .strictObject({
    amount: z
      .string()
      .regex(/^(0|[1-9][0-9]{0,11})(\.[0-9]{1,18})?$/, 'Must be an amount such as "49.99"')
      .meta({ examples: ['49.99'] }),
    currency: z.enum(CURRENCIES, {
      error: `Must be one of ${CURRENCIES.join(', ')}; US dollars are usd_amount`,
    }),
  })
  .superRefine(({ amount, currency }, context) => {
    const decimals = currencyDecimals(currency)
    if ((amount.split('.')[1] ?? '').length <= decimals) return
    const message = `Must have ${decimals === 0 ? 'no' : `at most ${decimals}`} decimals, as ${currency} has`
    context.addIssue({ code: 'custom', path: ['amount'], message })
  })

/** A coin amount: canonical, no trailing zeros, no exponent. */
export const coinAmount = z
  .string()
  .regex(
    /^(0|[1-9][0-9]{0,59})(\.[0-9]{0,17}[1-9])?$/,
    'Must be a coin amount such as "0.015", without trailing zeros or exponent',
  )
  .meta({ examples: ['0.015'] })

/** An amount that we write: it may be negative nowhere in version 1. */
export const amountView = z
  .string()
  .meta({ description: 'Canonical decimal in coin units.', examples: ['0.015'] })

export const timestamp = z.string().meta({
  format: 'date-time',
  description: 'ISO 8601 UTC with milliseconds.',
  examples: ['2026-01-31T09:30:00.000Z'],
})

/** Whether a time in UTC is one of the calendar's: `Date.parse` takes the 30th of February for the 2nd of March. */
function isRealTime(text: string): boolean {
  const time = new Date(text)
  return !Number.isNaN(time.getTime()) && time.toISOString().slice(0, 19) === text.slice(0, 19)
}

/** A time that a caller gives: ISO 8601 in UTC, to the second or the millisecond. */
export const instant = z
  .string()
  .regex(
    /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,3})?Z$/,
    'Must be a time such as 2026-01-31T09:30:00Z',
  )
  .refine(isRealTime, { error: 'Must be a time that exists' })
  .meta({ format: 'date-time' })

/** An id of ours with this prefix. */
export function id(prefix: string) {
  return z
    .string()
    .regex(idPattern(prefix), `Must be an id such as ${prefix}_…`)
    .meta({ examples: [`${prefix}_01jd0w5f3e8gqv7n5k2m9x4c6t`] })
}

/** An id as we give it. */
export const idView = (prefix: string) =>
  z.string().meta({ examples: [`${prefix}_01jd0w5f3e8gqv7n5k2m9x4c6t`] })

/** An address that we write to at a stranger's word: one mailbox, and nothing that a mail program reads as more. */
export const mailboxAddress = z.email().max(254)

/** An email address, loosely: something, `@`, a domain with a dot. Only a message sent proves more. */
export const emailAddress = z
  .string()
  .refine(
    (value) => value.length <= 254 && /^[^\s@\p{C}]{1,64}@[^\s@.\p{C}]+(?:\.[^\s@.\p{C}]+)+$/u.test(value),
    {
      error: 'Must be an email address of at most 254 characters',
    },
  )
  .meta({ format: 'email', maxLength: 254 })
