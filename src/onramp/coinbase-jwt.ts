import { type KeyObject, randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'

/** The longest that Coinbase accepts. */
const VALID_SECONDS = 120
const NONCE_BYTES = 16

/**
 * A bearer token for one request to Coinbase's Developer Platform: bound by `uris` to method, host and path (without
 * the query), signed with EdDSA or, by older keys, ES256.
 */
export function coinbaseJwt(
  key: { readonly id: string; readonly secret: KeyObject },
  request: { readonly method: string; readonly url: URL },
  nowMs: number,
): Promise<string> {
  const alg = key.secret.asymmetricKeyType === 'ed25519' ? 'EdDSA' : 'ES256'
  const now = Math.floor(nowMs / 1_000)
  const { host, pathname } = request.url
  return new SignJWT({ uris: [`${request.method} ${host}${pathname}`] })
    .setProtectedHeader({ alg, typ: 'JWT', kid: key.id, nonce: randomBytes(NONCE_BYTES).toString('hex') })
    .setSubject(key.id)
    .setIssuer('cdp')
    .setAudience(['cdp_service'])
    .setIssuedAt(now)
    .setNotBefore(now)
    .setExpirationTime(now + VALID_SECONDS)
    .sign(key.secret)
}
