import { timingSafeEqual } from 'node:crypto'
import { readCell } from '../core/cells.ts'
import { formatId, type IdKind, parseId } from '../core/ids.ts'
import type { Keyring } from './keyring.ts'

/** What a checkout URL's token names. */
type InvoiceReference = {
  readonly merchantId: string
  readonly livemode: boolean
  readonly invoiceId: string
}

/** What the token of a checkout session's URL names. */
type SessionReference = {
  readonly merchantId: string
  readonly livemode: boolean
  readonly sessionId: string
}

/** What that token is bound to besides (spec §2.3); no part of it can be read from the token. */
type SessionTerms = {
  readonly paymentLinkId: string
  readonly orderReference: string
  readonly usdCents: bigint
  readonly expiresAtMs: number
}

const INVOICE_PURPOSE = 'invoice_token/1'
const SESSION_PURPOSE = 'session_token/1'
const SESSION_TERMS_PURPOSE = 'session_terms/1'
const MODE_TEST = 0
const MODE_LIVE = 1
const UUID_BYTES = 16
/** Half a SHA-256: 128 bits, which nobody guesses. */
const MAC_BYTES = 16
const MESSAGE_BYTES = 1 + UUID_BYTES + UUID_BYTES
const BASE64URL = /^[A-Za-z0-9_-]+$/

/**
 * The token of an invoice's checkout URL: base64url of mode ‖ merchant's UUID ‖ invoice's UUID ‖ HMAC. It is
 * derived and never stored, so that the same invoice always has the same URL and a stolen database opens none.
 */
export function invoiceToken(keyring: Keyring, reference: InvoiceReference): string {
  const message = messageOf(reference, 'invoice', reference.invoiceId)
  return Buffer.concat([message, macOf(keyring, INVOICE_PURPOSE, message)]).toString('base64url')
}

/** What an untouched token names; null for anything else. Takes the same time wherever a MAC is wrong. */
export function readInvoiceToken(keyring: Keyring, token: string): InvoiceReference | null {
  const message = readMessage(keyring, token, { purpose: INVOICE_PURPOSE, bytes: MESSAGE_BYTES + MAC_BYTES })
  if (message === null) return null
  return { ...ownerOf(message), invoiceId: formatId('invoice', message.subarray(1 + UUID_BYTES)) }
}

/** The cell of an invoice's token, which its merchant may have left since; genuine or not. Null for what is no token. */
export function cellOfInvoiceToken(token: string): number | null {
  const bytes = Buffer.from(token, 'base64url')
  return bytes.length === MESSAGE_BYTES + MAC_BYTES ? readCell(bytes.subarray(1 + UUID_BYTES)) : null
}

/**
 * The token of a checkout session's URL: mode ‖ merchant's UUID ‖ session's UUID ‖ HMAC of these ‖ HMAC of these
 * with the session's terms. The first HMAC tells a made-up token without asking the database, the second binds
 * the token to the terms that the database holds. Derived like an invoice's.
 */
export function sessionToken(keyring: Keyring, reference: SessionReference, terms: SessionTerms): string {
  const message = messageOf(reference, 'checkoutSession', reference.sessionId)
  const bound = Buffer.concat([
    message,
    Buffer.from(
      JSON.stringify([
        terms.paymentLinkId,
        terms.orderReference,
        terms.usdCents.toString(),
        terms.expiresAtMs,
      ]),
    ),
  ])
  return Buffer.concat([
    message,
    macOf(keyring, SESSION_PURPOSE, message),
    macOf(keyring, SESSION_TERMS_PURPOSE, bound),
  ]).toString('base64url')
}

/** What a token of ours names, its terms not yet looked at; null for anything else. */
export function readSessionToken(keyring: Keyring, token: string): SessionReference | null {
  const message = readMessage(keyring, token, {
    purpose: SESSION_PURPOSE,
    bytes: MESSAGE_BYTES + 2 * MAC_BYTES,
  })
  if (message === null) return null
  return { ...ownerOf(message), sessionId: formatId('checkoutSession', message.subarray(1 + UUID_BYTES)) }
}

/** Whether a token is the one of exactly these terms. Takes the same time wherever it is wrong. */
export function isSessionToken(
  keyring: Keyring,
  token: string,
  reference: SessionReference,
  terms: SessionTerms,
): boolean {
  const genuine = Buffer.from(sessionToken(keyring, reference, terms))
  const given = Buffer.from(token)
  return given.length === genuine.length && timingSafeEqual(given, genuine)
}

function messageOf(
  owner: { readonly merchantId: string; readonly livemode: boolean },
  kind: IdKind,
  resourceId: string,
): Buffer {
  const merchant = parseId('merchant', owner.merchantId)
  const resource = parseId(kind, resourceId)
  if (merchant === null || resource === null)
    throw new Error(`a token was asked for something that is no ${kind}`)
  return Buffer.concat([Buffer.of(owner.livemode ? MODE_LIVE : MODE_TEST), merchant, resource])
}

/** The message of an untouched token, whose first HMAC stands; null for anything else. */
function readMessage(
  keyring: Keyring,
  token: string,
  expected: { purpose: string; bytes: number },
): Buffer | null {
  if (token.length !== Math.ceil((expected.bytes * 4) / 3) || !BASE64URL.test(token)) return null
  const bytes = Buffer.from(token, 'base64url')
  // The last character carries unused bits: only their one canonical spelling is the token.
  if (bytes.length !== expected.bytes || bytes.toString('base64url') !== token) return null
  const message = bytes.subarray(0, MESSAGE_BYTES)
  const mac = bytes.subarray(MESSAGE_BYTES, MESSAGE_BYTES + MAC_BYTES)
  if (!timingSafeEqual(macOf(keyring, expected.purpose, message), mac)) return null
  return message[0] === MODE_TEST || message[0] === MODE_LIVE ? message : null
}

const ownerOf = (message: Buffer): { merchantId: string; livemode: boolean } => ({
  livemode: message[0] === MODE_LIVE,
  merchantId: formatId('merchant', message.subarray(1, 1 + UUID_BYTES)),
})

const macOf = (keyring: Keyring, purpose: string, message: Uint8Array): Buffer =>
  keyring.mac(purpose, message).subarray(0, MAC_BYTES)
