import { z } from 'zod'
import { type ReadTransaction, readTransaction } from './read-transaction.ts'
import type { Execution } from './svm-machine.ts'

/** One that was read from a journal's base was executed by an earlier process: what was before it is not known. */
export type PlacedTransaction = Omit<Execution, 'before'> & {
  readonly before?: Execution['before']
  readonly transaction: ReadTransaction
  readonly slot: number
}

export type SolanaBlock = {
  readonly slot: number
  readonly parentSlot: number
  readonly height: number
  readonly hash: string
  readonly parentHash: string
  readonly timeSeconds: number
  readonly transactions: readonly PlacedTransaction[]
}

/** What a journal begins with: the whole state of the chain at some block. */
export const baseSchema = z.strictObject({
  version: z.literal(1),
  bank: z.string(),
  svm: z.string().nullable(),
  /** The slot whose state `svm` is; later blocks are executed again. Absent: the newest block's. */
  svmSlot: z.int().optional(),
  branch: z.int(),
  blocks: z.array(z.unknown()),
  pending: z.array(z.strictObject({ bytes: z.string(), held: z.boolean(), ageless: z.boolean().optional() })),
})
export type ChainBase = z.output<typeof baseSchema>

/** The base of a chain that has no block yet. */
export const newBase = (bank: string): string =>
  JSON.stringify({ version: 1, bank, svm: null, branch: 0, blocks: [], pending: [] } satisfies z.input<
    typeof baseSchema
  >)

/** JSON without bigints and bytes: those become tagged strings. */
export function blockToJson(block: SolanaBlock): unknown {
  return JSON.parse(
    JSON.stringify(
      {
        ...block,
        transactions: block.transactions.map(({ transaction, before: _before, ...rest }) => ({
          ...rest,
          bytes: Buffer.from(transaction.bytes).toString('base64'),
        })),
      },
      (_key, value: unknown) => (typeof value === 'bigint' ? `n${value}` : value),
    ),
  )
}

export function blockFromJson(json: unknown): SolanaBlock {
  const revived = JSON.parse(JSON.stringify(json), (_key, value: unknown) =>
    typeof value === 'string' && /^n-?[0-9]+$/.test(value) ? BigInt(value.slice(1)) : value,
  ) as Omit<SolanaBlock, 'transactions'> & {
    transactions: (Omit<Execution, 'before'> & { slot: number; bytes: string })[]
  }
  return {
    ...revived,
    transactions: revived.transactions.map(({ bytes, ...rest }) => ({
      ...rest,
      transaction: readTransaction(Buffer.from(bytes, 'base64')),
    })),
  }
}
