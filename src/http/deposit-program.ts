import { bech32, bech32m } from '@scure/base'

const BECH32_LENGTH_MAX = 90

/** The witness program of a segwit address (BIP173, BIP350), for finding whose it is; null for any other text. */
export function programOfAddress(address: string): Uint8Array | null {
  if (address.length > BECH32_LENGTH_MAX || !address.includes('1')) return null
  for (const coder of [bech32, bech32m]) {
    const decoded = coder.decodeUnsafe(address)
    const program = decoded === undefined ? undefined : coder.fromWordsUnsafe(decoded.words.slice(1))
    if (program) return program
  }
  return null
}
