import { randomBytes } from 'node:crypto'

const SECRET_BYTES = 32

/** A new signing secret: `whsec_` and 256 random bits. The whole string's UTF-8 bytes are the HMAC key. */
export function newSigningSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64url')}`
}
