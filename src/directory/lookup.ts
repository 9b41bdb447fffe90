import { createHmac } from 'node:crypto'
import { canonicalEmail } from '../core/people/canonical-email.ts'

/** Under what the directory knows an address or a passkey: HMAC-SHA-256 under the key of the cells, in hexadecimal. */
export const emailLookup = (key: Uint8Array, email: string): string =>
  createHmac('sha256', key)
    .update(`email/${canonicalEmail(email)}`)
    .digest('hex')
export const passkeyLookup = (key: Uint8Array, credentialId: string): string =>
  createHmac('sha256', key).update(`passkey/${credentialId}`).digest('hex')

/**
 * Stands among a cell's passkeys, where no passkey can: whether two cells look up with the same key. With different ones
 * neither finds the other's people, and half of them are refused where they come first.
 */
export const keyMark = (key: Uint8Array): string =>
  createHmac('sha256', key).update('directory key').digest('hex')

/**
 * The cell of an address that nobody has, by highest random weight (Thaler and Ravishankar, 1998): always the same one, as
 * for one that somebody has, and without the key nobody knows which. Null where there are no cells.
 */
export function cellOfUnknown(key: Uint8Array, lookup: string, cells: readonly number[]): number | null {
  const weightOf = (cell: number): string =>
    createHmac('sha256', key).update(`cell/${cell}/${lookup}`).digest('hex')
  const [best] = cells
    .map((cell) => ({ cell, weight: weightOf(cell) }))
    .sort((one, other) => (one.weight < other.weight ? 1 : -1))
  return best?.cell ?? null
}
