import { z } from 'zod'
import { hashSchema } from './node-answers.ts'

/** What we read of an Esplora server's answers. */

export const esploraBlockSchema = z.object({
  id: hashSchema,
  height: z.int().nonnegative(),
  timestamp: z.uint32(),
  /** The rest of the header. Some servers give the version with its sign, others without. */
  version: z
    .int()
    .min(-(2 ** 31))
    .max(2 ** 32 - 1),
  merkle_root: hashSchema,
  bits: z.uint32(),
  nonce: z.uint32(),
  /** Null or absent for the genesis block. */
  previousblockhash: hashSchema.nullish(),
})
export type EsploraBlock = z.infer<typeof esploraBlockSchema>

export const blockStatusSchema = z.object({ in_best_chain: z.boolean() })

const inputSchema = z.object({
  txid: hashSchema,
  vout: z.int().nonnegative(),
  is_coinbase: z.boolean().optional(),
})
export type EsploraInput = z.infer<typeof inputSchema>

export const esploraTransactionSchema = z.object({
  txid: hashSchema,
  vin: z.array(inputSchema),
  status: z.object({ confirmed: z.boolean() }),
})
export const esploraTransactionsSchema = z.array(esploraTransactionSchema)

export const outspendSchema = z.object({ spent: z.boolean(), txid: hashSchema.nullish() })
