import { formatId, parseId, uuidv7 } from '../ids.ts'

/** Bytes of a UUIDv7 beside its time, the last eight of which hold the variant's two bits and 62 of ours. */
const RANDOM_BYTES = 10
const POSITION_MASK = (1n << 62n) - 1n

/**
 * The id of an entry in a merchant's statement. An entry is named by its position in it, and the id is a UUIDv7 with
 * that position (and the mode) where others have random bits: it sorts by time, and nothing more has to be stored.
 */
export function balanceEntryId(entry: {
  readonly createdAtMs: number
  readonly livemode: boolean
  readonly position: number
}): string {
  const bytes = new Uint8Array(RANDOM_BYTES)
  bytes[1] = entry.livemode ? 1 : 0
  let rest = BigInt(entry.position)
  for (let index = RANDOM_BYTES - 1; index > 1; index--) {
    bytes[index] = Number(rest & 255n)
    rest >>= 8n
  }
  return formatId('balanceEntry', uuidv7(entry.createdAtMs, bytes))
}

/** The position that an entry's id names; null where the text is no such id. */
export function positionOfEntry(id: string): bigint | null {
  const bytes = parseId('balanceEntry', id)
  if (bytes === null) return null
  let position = 0n
  for (const byte of bytes.subarray(8)) position = (position << 8n) | BigInt(byte)
  return position & POSITION_MASK
}
