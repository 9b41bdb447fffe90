import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

const ITEMS_DEFAULT = 10
/** Enough to look through; what is more belongs into a narrower question. */
const ITEMS_MAX = 25

/** A shop's server names its creations by its orders too: the same name from here is another one. */
const KEY_PREFIX = 'mcp-'
const KEY_LENGTH_MAX = 255 - KEY_PREFIX.length

export const idempotencyKey = z
  .string()
  .min(1)
  .max(KEY_LENGTH_MAX)
  .describe(
    'Names this one creation, such as order-1042. The same key again gives the same object, for 72 hours.',
  )
export const optionsOf = (key: string) => ({ idempotencyKey: KEY_PREFIX + key })

export const startingAfter = z.string().optional().describe('The id of the last one on the page before')

export const limit = z.number().int().min(1).max(ITEMS_MAX).default(ITEMS_DEFAULT)

/** Reads, and changes nothing. */
export const READS = { readOnlyHint: true, openWorldHint: false } as const
/** A total in another currency than the US dollar. */
export const price = z
  .strictObject({
    amount: z.string().describe('Such as 49.99'),
    currency: z.string().describe('Such as EUR'),
  })
  .optional()
  .describe("In the merchant's own currency, in place of usd_amount")

/** Creates, once for each idempotency key. */
export const CREATES = {
  readOnlyHint: false,
  destructiveHint: false,
  idempotentHint: true,
  openWorldHint: false,
} as const

export const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] })
/** As JSON. */
export const json = (value: object): CallToolResult => text(JSON.stringify(value))

/** Of an object what is named, in that order. */
export function pick<Item extends object, Name extends keyof Item>(item: Item, names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, item[name]])) as Pick<Item, Name>
}
