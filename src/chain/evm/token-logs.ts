import { keccak_256 } from '@noble/hashes/sha3.js'
import { hexToBytes } from '@noble/hashes/utils.js'
import type { EvmToken } from '../../core/chain/evm-parameters.ts'
import { ChainUnavailable, type FoundTransfer } from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import type { EvmLog } from './evm-answers.ts'
import { TRANSFER_TOPIC } from './evm-node.ts'

const BLOOM_BITS = 2_048

/** The bits of those asked for, which are few: the pinned contracts, and one topic. */
const bitsByItem = new Map<string, readonly number[]>()

/** The three bits of an address or topic in a block's bloom filter (Yellow Paper, 4.3.1). */
function bitsOf(item: string): readonly number[] {
  const known = bitsByItem.get(item)
  if (known !== undefined) return known
  const hash = keccak_256(hexToBytes(item.slice(2)))
  const bits = [0, 2, 4].map((pair) => (((hash[pair] ?? 0) << 8) | (hash[pair + 1] ?? 0)) % BLOOM_BITS)
  bitsByItem.set(item, bits)
  return bits
}

/** Whether a bloom filter (512 hex digits with 0x) may hold this address or topic. False is certain; true may be by chance. */
function mayHold(bloom: string, item: string): boolean {
  return bitsOf(item).every((bit) => {
    // The filter is one big-endian number.
    const digit = bloom[bloom.length - 1 - Math.floor(bit / 4)]
    return ((Number.parseInt(digit ?? '0', 16) >>> (bit % 4)) & 1) === 1
  })
}

/** A transaction credits an address once in each asset: its native coin is output 0, each token the one of the registry. */
export const NATIVE_OUTPUT = 0

const TOPICS = 3
const ADDRESS_AT = 12
/** Far beyond all dollars. More is said only by a test token that anybody may mint, and a few such fill what books can hold. */
const AMOUNT_MAX = 2n ** 128n - 1n

/**
 * What a block's Transfer logs (EIP-20) credit to watched addresses, summed for each transaction, address and token.
 * Nothing but the pinned contracts' logs counts, nor a value of zero or beyond all dollars, nor what an address
 * sends to itself. Mints do.
 */
export function creditsOfLogs(
  logs: readonly EvmLog[],
  tokens: readonly EvmToken[],
  watched: Pick<AddressSet, 'hasShort'>,
): FoundTransfer[] {
  const credits = new Map<string, FoundTransfer>()
  for (const { address, topics, data, transactionHash } of logs) {
    const token = tokens.find(({ contract }) => contract === address)
    const [topic, from, to] = topics
    if (token === undefined || topic !== TRANSFER_TOPIC || topics.length !== TOPICS) continue
    if (from === undefined || to === undefined || from === to || transactionHash == null) continue
    const addressBytes = hexToBytes(to.slice(2))
    const amount = data.length === 66 ? BigInt(data) : 0n
    if (amount === 0n || amount > AMOUNT_MAX || !watched.hasShort(addressBytes, ADDRESS_AT)) continue
    const key = `${transactionHash}:${to}:${token.asset}`
    credits.set(key, {
      addressBytes: to.slice(2 + ADDRESS_AT * 2),
      txid: transactionHash,
      outputIndex: token.outputIndex,
      asset: token.asset,
      amount: amount + (credits.get(key)?.amount ?? 0n),
      minimumConfirmations: 1,
    })
  }
  return [...credits.values()]
}

/** Whether the block's bloom filter leaves it possible that one of these tokens moved in it. */
export function mayMove(bloom: string, tokens: readonly EvmToken[]): boolean {
  return mayHold(bloom, TRANSFER_TOPIC) && tokens.some(({ contract }) => mayHold(bloom, contract))
}

/** Logs that are not what was asked for are no answer. */
export function requireLogsOf(hash: string, logs: readonly EvmLog[], contracts: readonly string[]): void {
  const isRequested = (log: EvmLog) =>
    log.blockHash === hash &&
    log.removed !== true &&
    log.transactionHash != null &&
    log.topics[0] === TRANSFER_TOPIC &&
    contracts.includes(log.address)
  if (!logs.every(isRequested)) {
    throw new ChainUnavailable(`the node gave logs for block ${hash} that are not what it was asked for`)
  }
}
