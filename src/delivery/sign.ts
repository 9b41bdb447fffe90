import { createHmac } from 'node:crypto'

/**
 * The `paylink-signature` header (spec §6.4): `t=<unix seconds>,v1=<hex>[,v1=<hex>…]`, one v1 for each secret, in
 * the given order. Each is HMAC-SHA-256 over `<t>.` and the raw body; the key is the whole `whsec_…` string's
 * UTF-8 bytes.
 */
export function signatureHeader(secrets: readonly string[], unixSeconds: number, body: Uint8Array): string {
  if (secrets.length === 0) throw new Error('nothing to sign with')
  if (!Number.isSafeInteger(unixSeconds)) throw new Error('a signature needs whole seconds')
  const prefix = `${unixSeconds}.`
  const signatures = secrets.map(
    (secret) => `v1=${createHmac('sha256', secret).update(prefix).update(body).digest('hex')}`,
  )
  return [`t=${unixSeconds}`, ...signatures].join(',')
}
