import { BASE32 } from './ids.ts'

/**
 * Cells: whole installations that share one address, so that a merchant is in exactly one of them. What a caller holds (a
 * key, a link, a token) carries the number of its cell, and a proxy routes by it without asking anybody. Cell 0 is the
 * first one, whose keys and ids carry none: docs/cells.md.
 */
export const CELL_MAX = 1_023

/** Says in a 421 which cell the request is for. */
export const CELL_HEADER = 'paylink-cell'

/** By which the proxy knows a browser's cell: it is no secret and opens nothing. */
const CELL_COOKIE = 'paylink_cell'
const YEAR_SECONDS = 31_536_000
export const cellCookie = (cell: number): string =>
  `${CELL_COOKIE}=${cellTag(cell)}; Path=/; Max-Age=${YEAR_SECONDS}; SameSite=Lax; HttpOnly`

/** Two base32 characters for each cell: `03` is cell 3. */
export const cellTag = (cell: number): string => `${BASE32[cell >> 5]}${BASE32[cell & 31]}`

/** The number of a tag: of the first cell where there is none; null where it is no tag, or one that nothing carries. */
export function cellOfTag(tag: string | undefined): number | null {
  if (tag === undefined) return 0
  const [high = -1, low = -1] = [...tag].map((character) => BASE32.indexOf(character))
  return tag.length === 2 && high >= 0 && low >= 0 ? high * 32 + low || null : null
}

const VERSION_7 = 0x70
/** Custom, by time like version 7 (RFC 9562 §5.8). */
const VERSION_8 = 0x80

/** Makes a UUIDv7 one of this cell: version 8, with the cell in place of the 12 random bits that follow. */
export function writeCell(uuid: Uint8Array, cell: number): void {
  // A zero on each side: the ten bits are two whole characters of base32, and two of base64url in a checkout token.
  uuid[6] = VERSION_8 | (cell >> 7)
  uuid[7] = (cell << 1) & 0xff
}

/** The cell that a UUID names; null for one that no cell makes. */
export function readCell(uuid: Uint8Array): number | null {
  const [sixth = 0, seventh = 0] = uuid.subarray(6, 8)
  if ((sixth & 0xf0) === VERSION_7) return 0
  const cell = ((sixth & 0x07) << 7) | (seventh >> 1)
  return (sixth & 0xf8) === VERSION_8 && (seventh & 1) === 0 && cell > 0 ? cell : null
}
