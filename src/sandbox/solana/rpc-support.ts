import { type Address, isAddress } from '@solana/kit'
import { z } from 'zod'
import { COMMITMENTS, type Commitment, type SolanaNode } from './solana-node.ts'

/** The codes of Solana's JSON-RPC (agave, rpc-client-api/src/custom_error.rs). */
export const RPC_CODES = {
  parse: -32_700,
  invalidRequest: -32_600,
  methodNotFound: -32_601,
  invalidParams: -32_602,
  internal: -32_603,
  blockCleanedUp: -32_001,
  preflightFailure: -32_002,
  signatureVerification: -32_003,
  blockNotAvailable: -32_004,
  nodeUnhealthy: -32_005,
  slotSkipped: -32_007,
  unsupportedVersion: -32_015,
  minContextSlot: -32_016,
} as const

export class SolanaRpcError extends Error {
  override name = 'SolanaRpcError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

export type RpcMethod = (node: SolanaNode, params: readonly unknown[]) => unknown | Promise<unknown>

const optionsSchema = z
  .object({
    commitment: z.enum(COMMITMENTS).optional(),
    encoding: z.string().optional(),
    dataSlice: z.object({ offset: z.int().min(0), length: z.int().min(0) }).optional(),
    minContextSlot: z.int().optional(),
    transactionDetails: z.enum(['full', 'accounts', 'signatures', 'none']).optional(),
    maxSupportedTransactionVersion: z.int().optional(),
    limit: z.int().min(1).max(1_000).optional(),
    before: z.string().optional(),
    until: z.string().optional(),
    searchTransactionHistory: z.boolean().optional(),
    skipPreflight: z.boolean().optional(),
    preflightCommitment: z.enum(COMMITMENTS).optional(),
  })
  .optional()

export type RpcOptions = NonNullable<z.output<typeof optionsSchema>>

export function optionsOf(value: unknown): RpcOptions {
  const parsed = optionsSchema.safeParse(value ?? undefined)
  if (!parsed.success)
    throw new SolanaRpcError(RPC_CODES.invalidParams, `Invalid params: ${parsed.error.message}`)
  return parsed.data ?? {}
}

/** The commitment asked for, finalized by default; with `minContextSlot` refused by a node that is behind it. */
export function commitmentOf(node: SolanaNode, options: RpcOptions): Commitment {
  const commitment = options.commitment ?? 'finalized'
  const { slot } = node.at(commitment)
  if (options.minContextSlot !== undefined && slot < options.minContextSlot) {
    throw new SolanaRpcError(RPC_CODES.minContextSlot, 'Minimum context slot has not been reached', {
      contextSlot: slot,
    })
  }
  return commitment
}

export function addressOf(value: unknown): Address {
  if (typeof value === 'string' && isAddress(value)) return value
  throw new SolanaRpcError(RPC_CODES.invalidParams, 'Invalid param: Invalid')
}

export function integerOf(value: unknown): number {
  const parsed = z.int().min(0).safeParse(value)
  if (!parsed.success)
    throw new SolanaRpcError(RPC_CODES.invalidParams, 'Invalid params: expected an integer')
  return parsed.data
}

export function textOf(value: unknown): string {
  if (typeof value === 'string') return value
  throw new SolanaRpcError(RPC_CODES.invalidParams, 'Invalid params: expected a string')
}

export const withContext = (slot: number, value: unknown) => ({
  context: { apiVersion: '3.0.0', slot },
  value,
})

/** JSON in which a bigint is a number of as many digits as it has. */
export function stringifyWithBigints(value: unknown): string {
  const text = JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'bigint' ? `#bigint:${each}#` : each,
  )
  return text.replace(/"#bigint:(-?[0-9]+)#"/g, '$1')
}
