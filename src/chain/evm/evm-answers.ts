import { z } from 'zod'
import { allOf, isRecord, parsedBy } from '../parse-by-hand.ts'

const QUANTITY = /^0x(0|[1-9a-f][0-9a-f]{0,63})$/i
/** Anvil and some nodes pad their quantities; nothing is lost by reading those too. */
const LOOSE_QUANTITY = /^0x[0-9a-f]{1,64}$/i

export const quantity = z
  .string()
  .regex(LOOSE_QUANTITY)
  .transform((text) => BigInt(text))
export const count = z
  .string()
  .regex(QUANTITY)
  .transform(Number)
  .refine((value) => Number.isSafeInteger(value))
export const hash = z
  .string()
  .regex(/^0x[0-9a-f]{64}$/i)
  .transform((text) => text.toLowerCase())
const address = z
  .string()
  .regex(/^0x[0-9a-f]{40}$/i)
  .transform((text) => text.toLowerCase())
const HEX = /^0x[0-9a-f]*$/i
export const bytes = z.string().regex(/^0x([0-9a-f]{2})*$/i)

const withdrawal = z.object({ address, amount: quantity })

const headerFields = {
  number: count,
  hash,
  parentHash: hash,
  timestamp: count,
  logsBloom: z.string().regex(/^0x[0-9a-f]{512}$/i),
  receiptsRoot: hash,
  miner: address,
  baseFeePerGas: quantity.optional(),
  withdrawals: z.array(withdrawal).optional(),
}

/** A block with the ids of its transactions. */
export const headerSchema = z.object({ ...headerFields, transactions: z.array(hash) })
export type EvmHeader = z.infer<typeof headerSchema>

const transaction = z.object({ hash, from: address, to: address.nullish(), value: quantity })

/** A block with its transactions in full, `sent`, beside their ids. */
export const blockSchema = z
  .object({ ...headerFields, transactions: z.array(transaction) })
  .transform(({ transactions: sent, ...fields }) => ({
    ...fields,
    transactions: sent.map((each) => each.hash),
    sent,
  }))
export type EvmBlock = z.infer<typeof blockSchema>

/** Of a list that anybody writes (EIP-7702): null where it is none that could be good. */
const delegation = z
  .object({ chainId: quantity, address, nonce: count, yParity: quantity, r: quantity, s: quantity })
  .nullable()
  .catch(null)

/** A block with who sent each of its transactions, and what delegations they carry. */
export const sendersSchema = z.object({
  transactions: z.array(
    z.object({ hash, from: address, nonce: count, authorizationList: z.array(delegation).nullish() }),
  ),
})
export type EvmSenders = z.infer<typeof sendersSchema>['transactions']
export type EvmSent = EvmSenders[number]

const account = z.object({ balance: quantity.optional() })
const state = z.record(z.string().regex(/^0x[0-9a-f]{40}$/i), account)

const trace = z.object({ txHash: hash.optional(), result: z.object({ pre: state, post: state }) })
export type EvmTraces = readonly z.infer<typeof trace>[]

/** `debug_traceBlockByHash` with `prestateTracer` in diff mode. `error`: this one could not be traced. */
export const tracesSchema = z.array(z.union([trace, z.object({ error: z.string() })]))

export type EvmLog = {
  readonly address: string
  readonly topics: readonly string[]
  readonly data: string
  readonly blockHash?: string | null | undefined
  readonly transactionHash?: string | null | undefined
  readonly removed?: boolean | undefined
}

const TOPICS_MAX = 4
/** Characters: 0x and two for each byte. */
const ADDRESS_CHARS = 42
const HASH_CHARS = 66

/** Hex with 0x, lower case. */
function hexOf(value: unknown, length: number): string | null {
  const isHex = typeof value === 'string' && value.length === length && HEX.test(value)
  return isHex ? value.toLowerCase() : null
}
const hashOf = (value: unknown) => hexOf(value, HASH_CHARS)

/** A block has thousands of them. */
function readLog(value: unknown): EvmLog | null {
  if (!isRecord(value)) return null
  const { data, removed } = value
  const address = hexOf(value.address, ADDRESS_CHARS)
  const topics = allOf(value.topics, hashOf)
  const [blockHash, transactionHash] = [value.blockHash ?? null, value.transactionHash ?? null]
  const [inBlock, inTransaction] = [hashOf(blockHash), hashOf(transactionHash)]
  if (address === null || topics === null || topics.length > TOPICS_MAX) return null
  if (typeof data !== 'string' || data.length % 2 !== 0 || !HEX.test(data)) return null
  if ((inBlock === null && blockHash !== null) || (inTransaction === null && transactionHash !== null))
    return null
  if (removed !== undefined && typeof removed !== 'boolean') return null
  return { address, topics, data, blockHash: inBlock, transactionHash: inTransaction, removed }
}
export const logsSchema = z.array(parsedBy(readLog))

export const receiptsSchema = z.array(
  z.object({
    transactionHash: hash,
    blockHash: hash,
    from: address,
    type: count.optional(),
    status: count.optional(),
    root: hash.optional(),
    cumulativeGasUsed: quantity,
    gasUsed: quantity,
    effectiveGasPrice: quantity.optional(),
    /** Base: what the transaction paid for its place on Ethereum. */
    l1Fee: quantity.nullish(),
    logsBloom: bytes,
    logs: logsSchema,
    /** Base's deposits (type 0x7e), part of their receipt since Regolith and Canyon. */
    depositNonce: quantity.nullish(),
    depositReceiptVersion: quantity.nullish(),
  }),
)
export type EvmReceipt = z.infer<typeof receiptsSchema>[number]
