import { z } from 'zod'

/** What we read of a node's answers, and how (Bitcoin Core 0.21 and later, and nodes derived from it). */
export const hashSchema = z.string().regex(/^[0-9a-f]{64}$/)

/** Upper bound of what a node may list; a mempool of 300 MB holds some 200,000 transactions. */
const MEMPOOL_TRANSACTIONS_MAX = 1_500_000

export const chainSchema = z.object({
  chain: z.string(),
  blocks: z.int().nonnegative(),
  headers: z.int().nonnegative(),
  bestblockhash: hashSchema,
  initialblockdownload: z.boolean().optional(),
  pruned: z.boolean().optional(),
  pruneheight: z.int().optional(),
})
export type ChainAnswer = z.infer<typeof chainSchema>

export const headerSchema = z.object({
  hash: hashSchema,
  height: z.int().nonnegative(),
  time: z.int().nonnegative(),
  /** −1 where the block is not on the node's best chain. */
  confirmations: z.int(),
  chainwork: z.string().optional(),
  /** Absent for the genesis block. */
  previousblockhash: hashSchema.optional(),
})
export type HeaderAnswer = z.infer<typeof headerSchema>

export const chainTipsSchema = z.array(
  z.object({
    height: z.int(),
    hash: hashSchema,
    branchlen: z.int().nonnegative(),
    status: z.string(),
  }),
)

export const mempoolSchema = z.object({
  size: z.number(),
  bytes: z.number(),
  /** False while the node still reads the mempool it kept from its last run. */
  loaded: z.boolean().optional(),
})

export const mempoolEntrySchema = z.object({ time: z.number() })

export const acceptanceSchema = z.array(
  z.object({ allowed: z.boolean().optional(), 'reject-reason': z.string().optional() }),
)

/** The bytes of a hexadecimal string, or null where it is none. */
export function parseHex(value: unknown): Buffer | null {
  if (typeof value !== 'string') return null
  // Decoding stops at the first character that is no digit.
  const bytes = Buffer.from(value, 'hex')
  return bytes.length * 2 === value.length ? bytes : null
}

/** Transaction ids, or null where the value is no list of them. Plain code: a list may have a million. */
export function parseTxids(value: unknown): readonly string[] | null {
  if (!Array.isArray(value) || value.length > MEMPOOL_TRANSACTIONS_MAX) return null
  for (const entry of value as unknown[]) {
    if (typeof entry !== 'string' || entry.length !== 64) return null
  }
  return value as string[]
}

/** `getnetworkinfo`, as far as it is needed. */
export const connectionsSchema = z.object({ connections: z.number().optional() })
