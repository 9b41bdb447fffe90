import { z } from 'zod'
import { id } from './fields.ts'

const LIST_LIMIT_DEFAULT = 10
const LIST_LIMIT_MAX = 100

const DIGITS = /^[1-9][0-9]*$/

/** An optional number of a query string, from 1 to `max`: an integer in the document, digits in the URL. */
export function wholeNumber(max: number, description: string) {
  const error = `Must be a whole number from 1 to ${max}`
  const readDigits = (text: unknown) => (typeof text === 'string' && DIGITS.test(text) ? Number(text) : text)
  return z.preprocess(readDigits, z.int(error).min(1, error).max(max, error).meta({ description })).optional()
}

/** `limit`, `starting_after` and `ending_before`, as every list takes them; ids have the given prefix. */
export function listParameters(prefix: string) {
  return {
    limit: wholeNumber(
      LIST_LIMIT_MAX,
      `Maximum items to return, from 1 to ${LIST_LIMIT_MAX}. Default: ${LIST_LIMIT_DEFAULT}.`,
    ),
    starting_after: id(prefix).meta({ description: 'Return items older than this one.' }).optional(),
    ending_before: id(prefix).meta({ description: 'Return items newer than this one.' }).optional(),
  }
}

/** A page of a list, newest first. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    object: z.literal('list'),
    url: z.string().meta({ description: 'Path of this list.' }),
    has_more: z
      .boolean()
      .meta({ description: 'Whether there are more in the direction that was asked for.' }),
    data: z.array(item),
  })
}

/** The position that a list's parameters ask for. Give one of `starting_after` and `ending_before`, or neither. */
type Page = {
  readonly limit: number
  readonly startingAfter: string | null
  readonly endingBefore: string | null
}

export function pageOf(query: {
  limit?: number | undefined
  starting_after?: string | undefined
  ending_before?: string | undefined
}): Page {
  return {
    limit: query.limit ?? LIST_LIMIT_DEFAULT,
    startingAfter: query.starting_after ?? null,
    endingBefore: query.ending_before ?? null,
  }
}

/** To be given to a list's schema with `superRefine`: two positions at once mean nothing. */
export function refuseTwoPositions(
  query: { starting_after?: string | undefined; ending_before?: string | undefined },
  context: z.RefinementCtx,
): void {
  if (query.starting_after !== undefined && query.ending_before !== undefined) {
    context.addIssue({
      code: 'custom',
      path: ['ending_before'],
      message: 'Cannot be combined with starting_after',
    })
  }
}
