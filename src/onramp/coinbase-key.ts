import { createPrivateKey, type KeyObject } from 'node:crypto'

const SEED_BYTES = 32
const ED25519_BYTES = 64
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/**
 * The secret of a Coinbase Developer Platform key: 64 bytes in base64, an Ed25519 seed and its public key; or, of
 * older keys, an EC private key on P-256 as PEM, its line ends perhaps written as `\n`. Null for anything else.
 */
export function parseCoinbaseKey(text: string): KeyObject | null {
  try {
    if (text.startsWith('-----BEGIN')) {
      const key = createPrivateKey(text.replaceAll('\\n', '\n'))
      return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : null
    }
    if (!BASE64.test(text)) return null
    const bytes = Buffer.from(text, 'base64')
    if (bytes.length !== ED25519_BYTES) return null
    const d = bytes.subarray(0, SEED_BYTES).toString('base64url')
    const x = bytes.subarray(SEED_BYTES).toString('base64url')
    return createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d, x }, format: 'jwk' })
  } catch {
    // OpenSSL's error says only that this is not a key; the caller names the variable that holds it.
    return null
  }
}
