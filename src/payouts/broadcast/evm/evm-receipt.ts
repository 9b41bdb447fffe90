import { bytesToHex } from '@noble/hashes/utils.js'
import { z } from 'zod'
import { count, type EvmLog, hash, logsSchema } from '../../../chain/evm/evm-answers.ts'
import { TRANSFER_TOPIC } from '../../../chain/evm/evm-node.ts'

export const receiptSchema = z
  .object({
    blockHash: hash,
    blockNumber: count,
    status: count.optional(),
    logs: logsSchema.default([]),
  })
  .nullable()

export type EvmReceiptFound = {
  readonly height: number
  /** Of the block. */
  readonly hash: string
  readonly succeeded: boolean
  readonly logs: readonly EvmLog[]
}

/** Characters of one word: 0x and two for each byte. */
const WORD_CHARS = 66

/** What a transaction brought an account (20 bytes) of a token, less what it took, as the token's contract says (EIP-20). Base units. */
export function broughtBy(
  { logs }: Pick<EvmReceiptFound, 'logs'>,
  to: { readonly account: Uint8Array; readonly contract: string },
): bigint {
  const word = `0x${bytesToHex(to.account).padStart(64, '0')}`
  return logs.reduce((sum, { address, topics: [topic, from, receiver], data }) => {
    if (address !== to.contract || topic !== TRANSFER_TOPIC || data.length !== WORD_CHARS) return sum
    const [moved, taken] = [receiver === word, from === word].map((isOwn) => (isOwn ? BigInt(data) : 0n))
    return sum + (moved ?? 0n) - (taken ?? 0n)
  }, 0n)
}
