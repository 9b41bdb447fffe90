import { base58, bech32, bech32m } from '@scure/base'

const BECH32_LENGTH_MAX = 90

/** A Solana owner: 32 bytes in base58. */
const SOLANA_ADDRESS = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/
const OWNER_BYTES = 32

/**
 * The witness program of a segwit address (BIP173, BIP350) or the owner that a Solana address is, for finding whose it
 * is; null for any other text.
 */
export function programOfAddress(address: string): Uint8Array | null {
  if (SOLANA_ADDRESS.test(address)) {
    const owner = base58.decode(address)
    if (owner.length === OWNER_BYTES) return owner
  }
  if (address.length > BECH32_LENGTH_MAX || !address.includes('1')) return null
  for (const coder of [bech32, bech32m]) {
    const decoded = coder.decodeUnsafe(address)
    const program = decoded === undefined ? undefined : coder.fromWordsUnsafe(decoded.words.slice(1))
    if (program) return program
  }
  return null
}
