import { timingSafeEqual } from 'node:crypto'
import { formatId, parseId } from '../core/ids.ts'
import type { Keyring } from './keyring.ts'

/** What a checkout URL's token names. */
export type InvoiceReference = {
  readonly merchantId: string
  readonly livemode: boolean
  readonly invoiceId: string
}

const PURPOSE = 'invoice_token/1'
const MODE_TEST = 0
const MODE_LIVE = 1
const UUID_BYTES = 16
/** Half a SHA-256: 128 bits, which nobody guesses. */
const MAC_BYTES = 16
const MESSAGE_BYTES = 1 + UUID_BYTES + UUID_BYTES
const TOKEN_BYTES = MESSAGE_BYTES + MAC_BYTES
const TOKEN_LENGTH = Math.ceil((TOKEN_BYTES * 4) / 3)
const BASE64URL = /^[A-Za-z0-9_-]+$/

/**
 * The token of an invoice's checkout URL: base64url of mode ‖ merchant's UUID ‖ invoice's UUID ‖ HMAC. It is
 * derived and never stored, so that the same invoice always has the same URL and a stolen database opens none.
 */
export function invoiceToken(keyring: Keyring, reference: InvoiceReference): string {
  const merchant = parseId('merchant', reference.merchantId)
  const invoice = parseId('invoice', reference.invoiceId)
  if (merchant === null || invoice === null)
    throw new Error('a token was asked for something that is no invoice')
  const message = Buffer.concat([Buffer.of(reference.livemode ? MODE_LIVE : MODE_TEST), merchant, invoice])
  return Buffer.concat([message, macOf(keyring, message)]).toString('base64url')
}

/** What an untouched token names; null for anything else. Takes the same time wherever a MAC is wrong. */
export function readInvoiceToken(keyring: Keyring, token: string): InvoiceReference | null {
  if (token.length !== TOKEN_LENGTH || !BASE64URL.test(token)) return null
  const bytes = Buffer.from(token, 'base64url')
  // The last character carries unused bits: only their one canonical spelling is the token.
  if (bytes.length !== TOKEN_BYTES || bytes.toString('base64url') !== token) return null
  const message = bytes.subarray(0, MESSAGE_BYTES)
  if (!timingSafeEqual(macOf(keyring, message), bytes.subarray(MESSAGE_BYTES))) return null
  const mode = message[0]
  if (mode !== MODE_TEST && mode !== MODE_LIVE) return null
  return {
    livemode: mode === MODE_LIVE,
    merchantId: formatId('merchant', message.subarray(1, 1 + UUID_BYTES)),
    invoiceId: formatId('invoice', message.subarray(1 + UUID_BYTES)),
  }
}

const macOf = (keyring: Keyring, message: Uint8Array): Buffer =>
  keyring.mac(PURPOSE, message).subarray(0, MAC_BYTES)
