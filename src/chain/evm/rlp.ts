import { concatBytes, hexToBytes } from '@noble/hashes/utils.js'

/** Yellow Paper, appendix B. */
export type Rlp = Uint8Array | readonly Rlp[]

const SHORT_MAX = 55

/** Big-endian without leading zeros; zero is empty. */
export function integer(value: bigint): Uint8Array {
  if (value === 0n) return new Uint8Array()
  const digits = value.toString(16)
  return hexToBytes(digits.length % 2 === 0 ? digits : `0${digits}`)
}

/** Recursive length prefix (Yellow Paper, appendix B). */
export function encodeRlp(item: Rlp): Uint8Array {
  if (item instanceof Uint8Array) {
    if (item.length === 1 && (item[0] ?? 0) < 0x80) return item
    return concatBytes(lengthPrefix(item.length, 0x80), item)
  }
  const body = concatBytes(...item.map(encodeRlp))
  return concatBytes(lengthPrefix(body.length, 0xc0), body)
}

function lengthPrefix(length: number, offset: number): Uint8Array {
  if (length <= SHORT_MAX) return new Uint8Array([offset + length])
  const digits = integer(BigInt(length))
  return concatBytes(new Uint8Array([offset + SHORT_MAX + digits.length]), digits)
}
