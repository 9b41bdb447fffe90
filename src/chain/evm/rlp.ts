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

/** The byte strings of one flat list (EIP-2718's payload of a transaction without access list); null where it is none. */
export function decodeFlatList(bytes: Uint8Array): Uint8Array[] | null {
  const list = itemAt(bytes, 0)
  if (list === null || !list.isList || list.end !== bytes.length) return null
  const items: Uint8Array[] = []
  for (let at = list.start; at < list.end; ) {
    const item = itemAt(bytes, at)
    if (item === null || item.end > list.end || (item.isList && item.end > item.start)) return null
    items.push(bytes.subarray(item.start, item.end))
    at = item.end
  }
  return items
}

/** Where the item that begins here has its content. */
function itemAt(bytes: Uint8Array, at: number): { isList: boolean; start: number; end: number } | null {
  const first = bytes[at]
  if (first === undefined) return null
  if (first < 0x80) return { isList: false, start: at, end: at + 1 }
  const [isList, short] = first < 0xc0 ? [false, first - 0x80] : [true, first - 0xc0]
  const digits = Math.max(0, short - SHORT_MAX)
  const start = at + 1 + digits
  const length =
    digits === 0 ? short : Number(`0x${Buffer.from(bytes.subarray(at + 1, start)).toString('hex') || '0'}`)
  return start + length > bytes.length ? null : { isList, start, end: start + length }
}
