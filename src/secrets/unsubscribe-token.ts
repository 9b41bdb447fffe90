import { timingSafeEqual } from 'node:crypto'
import { cellOfTag, cellTag, readCell } from '../core/cells.ts'
import { formatId, parseId } from '../core/ids.ts'
import { mailboxOf } from '../core/people/canonical-email.ts'
import { ownCell } from '../runtime/own-cell.ts'
import type { Keyring } from './keyring.ts'

/** Whose emails end, and for which mailbox: a digest, so that no URL names an address. */
export type Unsubscribe = { readonly merchantId: string; readonly recipient: Buffer }

const PURPOSE = 'unsubscribe_token/1'
const UUID_BYTES = 16
const DIGEST_BYTES = 32
/** Half a SHA-256: 128 bits, which nobody guesses. */
const MAC_BYTES = 16
const BYTES = UUID_BYTES + DIGEST_BYTES + MAC_BYTES
/** Of a merchant who moved here from the cell that made their id. */
const TAGGED = /^([0-9a-z]{2})\.(.*)$/

/** A mailbox as emails to strangers are counted by it, whatever its spelling. */
export const recipientOf = (keyring: Keyring, email: string): Buffer =>
  keyring.mac('receipt recipient', Buffer.from(mailboxOf(email)))

/** Base64url of merchant's UUID ‖ digest of the mailbox ‖ HMAC, after the cell and a dot where the UUID names another one. */
export function unsubscribeToken(keyring: Keyring, { merchantId, recipient }: Unsubscribe): string {
  const merchant = parseId('merchant', merchantId)
  if (merchant === null || recipient.length !== DIGEST_BYTES) throw new Error('that is nobody to unsubscribe')
  const message = Buffer.concat([merchant, recipient])
  const tag = readCell(merchant) === ownCell() ? '' : `${cellTag(ownCell())}.`
  return tag + Buffer.concat([message, macOf(keyring, message)]).toString('base64url')
}

/** The cell that a token names, whether or not it is genuine; null for what is no token. */
export function cellOfUnsubscribeToken(token: string): number | null {
  const [, tag, rest = token] = TAGGED.exec(token) ?? []
  const bytes = Buffer.from(rest, 'base64url')
  if (bytes.length !== BYTES) return null
  return tag === undefined ? readCell(bytes) : tag === cellTag(0) ? 0 : cellOfTag(tag)
}

/** What an untouched token names; null for anything else. Takes the same time wherever its HMAC is wrong. */
export function readUnsubscribeToken(keyring: Keyring, token: string): Unsubscribe | null {
  const rest = TAGGED.exec(token)?.[2] ?? token
  if (rest.length !== Math.ceil((BYTES * 4) / 3)) return null
  const bytes = Buffer.from(rest, 'base64url')
  // One canonical spelling only.
  if (bytes.length !== BYTES || bytes.toString('base64url') !== rest) return null
  const message = bytes.subarray(0, BYTES - MAC_BYTES)
  if (!timingSafeEqual(macOf(keyring, message), bytes.subarray(BYTES - MAC_BYTES))) return null
  return {
    merchantId: formatId('merchant', message.subarray(0, UUID_BYTES)),
    recipient: message.subarray(UUID_BYTES),
  }
}

const macOf = (keyring: Keyring, message: Uint8Array): Buffer =>
  keyring.mac(PURPOSE, message).subarray(0, MAC_BYTES)
