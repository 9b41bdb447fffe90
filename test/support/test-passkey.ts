import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { PasskeyEvidence } from '../../src/secrets/approval-evidence.ts'
import { BASE_URL } from './api.ts'

const USER_PRESENT = 0x01
const USER_VERIFIED = 0x04

export type TestPasskey = {
  readonly credentialId: string
  /** COSE, in base64, as the sign-in library stores it. */
  readonly publicKey: string
  /** What the passkey answers when its owner unlocks it over a challenge. */
  approve(digest: Uint8Array, changes?: { origin?: string; isUnlocked?: boolean }): PasskeyEvidence
}

/** A passkey without a browser: a P-256 key that signs as an authenticator does (WebAuthn §6.3.3). */
export function createTestPasskey(): TestPasskey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const credentialId = randomBytes(16).toString('base64url')
  // {1: 2, 3: -7, -1: 1, -2: x, -3: y}: an ES256 key (RFC 9053 §2.1), in CBOR.
  const cose = Buffer.concat([
    Buffer.from('a5010203262001215820', 'hex'),
    Buffer.from(x, 'base64url'),
    Buffer.from('225820', 'hex'),
    Buffer.from(y, 'base64url'),
  ])
  return {
    credentialId,
    publicKey: cose.toString('base64'),
    approve: (digest, { origin = BASE_URL, isUnlocked = true } = {}) => {
      const challenge = Buffer.from(digest).toString('base64url')
      const client = Buffer.from(JSON.stringify({ type: 'webauthn.get', challenge, origin }))
      const flags = USER_PRESENT | (isUnlocked ? USER_VERIFIED : 0)
      const rpId = createHash('sha256').update(new URL(origin).hostname).digest()
      const authenticator = Buffer.concat([rpId, Buffer.from([flags, 0, 0, 0, 0])])
      const clientHash = createHash('sha256').update(client).digest()
      return {
        kind: 'passkey',
        credential_id: credentialId,
        authenticator_data: authenticator.toString('base64url'),
        client_data_json: client.toString('base64url'),
        signature: sign('sha256', Buffer.concat([authenticator, clientHash]), privateKey).toString(
          'base64url',
        ),
      }
    },
  }
}
