import { randomBytes } from 'node:crypto'

/** Whole groups of three: the text has no padding. */
const SECRET_BYTES = 30

/**
 * A new signing secret: `whsec_` and 40 characters. The whole string's UTF-8 bytes are the key of `paylink-signature`, and
 * what base64 decodes after the prefix that of `webhook-signature` (Standard Webhooks).
 */
export const newSigningSecret = (): string => signingSecretFrom(randomBytes(SECRET_BYTES))

/** A signing secret from at least 30 bytes that nobody knows. The two characters in which kinds of base64 differ are not in it. */
export const signingSecretFrom = (bytes: Buffer): string =>
  `whsec_${bytes.subarray(0, SECRET_BYTES).toString('base64').replaceAll('+', '0').replaceAll('/', '1')}`
