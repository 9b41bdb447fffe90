import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'

const EVM_ADDRESS_BYTES = 20
/** The first byte of an uncompressed public key only says that it is one (SEC 1, 2.3.3). */
const COORDINATES_FROM = 1
/** A letter is upper case where the nibble of the hash at its place is at least this. */
const UPPER_FROM = 8

/** The text of a 20-byte address, with the checksum that its letters' case carries (EIP-55). */
export function encodeEvmAddress(program: Uint8Array): string {
  if (program.length !== EVM_ADDRESS_BYTES) throw new Error(`${program.length} bytes are no EVM address`)
  const digits = bytesToHex(program)
  const hash = bytesToHex(keccak_256(utf8ToBytes(digits)))
  const letters = [...digits].map((digit, place) =>
    Number.parseInt(hash[place] ?? '0', 16) >= UPPER_FROM ? digit.toUpperCase() : digit,
  )
  return `0x${letters.join('')}`
}

/**
 * The 20 bytes of an address, or null if the text is none. All lower or all upper case carries no checksum; mixed
 * case must carry the right one (EIP-55).
 */
export function parseEvmAddress(text: string): Uint8Array | null {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) return null
  const digits = text.slice(2)
  const program = hexToBytes(digits.toLowerCase())
  const hasChecksum = digits !== digits.toLowerCase() && digits !== digits.toUpperCase()
  return hasChecksum && encodeEvmAddress(program) !== text ? null : program
}

/** The address of a public key: the last 20 bytes of the Keccak-256 of its coordinates (Yellow Paper, appendix F). */
export function evmProgramOf(publicKey: Uint8Array): Uint8Array {
  const coordinates = secp256k1.Point.fromBytes(publicKey).toBytes(false).subarray(COORDINATES_FROM)
  return keccak_256(coordinates).slice(-EVM_ADDRESS_BYTES)
}
