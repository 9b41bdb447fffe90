import { keccak_256 } from '@noble/hashes/sha3.js'
import { hexToBytes } from '@noble/hashes/utils.js'

const BLOOM_BITS = 2_048

/**
 * Whether a block's bloom filter (512 hex digits with 0x) may hold this address or topic (Yellow Paper, 4.3.1). False is
 * certain; true may be by chance.
 */
export function mayHold(bloom: string, item: string): boolean {
  const hash = keccak_256(hexToBytes(item.slice(2)))
  for (let pair = 0; pair < 6; pair += 2) {
    const bit = (((hash[pair] ?? 0) << 8) | (hash[pair + 1] ?? 0)) % BLOOM_BITS
    // The filter is one big-endian number of 512 digits.
    const digit = bloom[bloom.length - 1 - Math.floor(bit / 4)]
    if (((Number.parseInt(digit ?? '0', 16) >>> (bit % 4)) & 1) === 0) return false
  }
  return true
}
