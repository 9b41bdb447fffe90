import { createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'

/** PKCS #8 and SubjectPublicKeyInfo of an Ed25519 key up to its 32 bytes (RFC 8410 §4, §7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

/** An Ed25519 key (RFC 8032). */
export type SigningKey = {
  /** 32 bytes. */
  readonly publicKey: Buffer
  /** 64 bytes. */
  sign(message: Uint8Array): Buffer
}

/** The key that these 32 secret bytes stand for. */
export function openSigningKey(seed: Uint8Array): SigningKey {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  return { publicKey: spki.subarray(SPKI_PREFIX.length), sign: (message) => sign(null, message, key) }
}

/** Whether the key with these 32 public bytes signed the message. */
export const isSignedBy = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean =>
  verify(null, message, publicKeyOf(publicKey), signature)

const publicKeyOf = (bytes: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.concat([SPKI_PREFIX, bytes]), format: 'der', type: 'spki' })
