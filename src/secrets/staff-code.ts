import { randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import type { Keyring } from './keyring.ts'

/**
 * The code by which staff sign in at a till, and what the till's cookie holds. Eight digits are too few to be hashed
 * alone: what is stored is an HMAC under the installation's key, so that a stolen database gives no code away.
 */
const DIGITS = 8
const CODE_PATTERN = new RegExp(`^[0-9]{${DIGITS}}$`)
const CODE_PURPOSE = 'staff_code/1'
const SESSION_PURPOSE = 'till_session/1'
const SALT_BYTES = 16
/** A long working day: who finds the phone on the next morning has to know the code. */
export const TILL_SESSION_MS = 16 * 60 * 60_000

/** A code that nobody chose, for people choose 12345678. */
export const newStaffCode = (): string => String(randomInt(10 ** DIGITS)).padStart(DIGITS, '0')

/** What is stored of a till's code: salt ‖ HMAC. With another salt the same code ends the sessions of the old one. */
export function staffCodeDigest(
  keyring: Keyring,
  linkId: string,
  code: string,
  salt: Uint8Array = randomBytes(SALT_BYTES),
): Buffer {
  const message = Buffer.concat([salt, Buffer.from(`${linkId}/${code}`)])
  return Buffer.concat([salt, keyring.mac(CODE_PURPOSE, message)])
}

/** Whether this is the code, with or without the spaces that people write in it. */
export function isStaffCode(keyring: Keyring, linkId: string, stored: Buffer, given: string): boolean {
  const code = given.replaceAll(/\s/g, '')
  if (!CODE_PATTERN.test(code)) return false
  return timingSafeEqual(staffCodeDigest(keyring, linkId, code, stored.subarray(0, SALT_BYTES)), stored)
}

/** Bound to the till and to its code's digest: a new code ends every session, and nothing is stored of them. */
export function tillSession(keyring: Keyring, linkId: string, stored: Buffer, signedInAtMs: number): string {
  const mac = keyring.mac(SESSION_PURPOSE, Buffer.concat([stored, Buffer.from(`${linkId}/${signedInAtMs}`)]))
  return `${signedInAtMs}.${mac.toString('base64url')}`
}

export function isTillSession(
  keyring: Keyring,
  linkId: string,
  stored: Buffer,
  given: { readonly session: string; readonly nowMs: number },
): boolean {
  const { session, nowMs } = given
  const signedInAtMs = Number(/^([1-9][0-9]{0,14})\./.exec(session)?.[1] ?? Number.NaN)
  if (!(signedInAtMs <= nowMs && nowMs < signedInAtMs + TILL_SESSION_MS)) return false
  const genuine = Buffer.from(tillSession(keyring, linkId, stored, signedInAtMs))
  const bytes = Buffer.from(session)
  return bytes.length === genuine.length && timingSafeEqual(bytes, genuine)
}
