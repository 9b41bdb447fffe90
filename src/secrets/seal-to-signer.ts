import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'

/** PKCS #8 and SubjectPublicKeyInfo of an X25519 key up to its 32 bytes (RFC 8410 §4, §7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b656e04220420', 'hex')
const SPKI_PREFIX = Buffer.from('302a300506032b656e032100', 'hex')
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'

/** Under this name the key stands in the file in which the signer publishes its keys. */
export const SEAL_KEY_NAME = 'approver-seal'

/** The public half, 32 bytes, of the signer's private key of 32 bytes. */
export const sealKeyOf = (privateKey: Uint8Array): Buffer => rawOf(createPublicKey(privateKeyOf(privateKey)))

/**
 * Encrypts for the holder of an X25519 key alone: an ephemeral key, HKDF-SHA256 and AES-256-GCM, in the manner of HPKE's
 * base mode (RFC 9180). What is sealed opens only with the same context, a text that says what it is for.
 */
export function sealToSigner(signerKey: Uint8Array, plain: Uint8Array, context: string): Buffer {
  const { privateKey, publicKey } = generateKeyPairSync('x25519')
  const ephemeral = rawOf(publicKey)
  const { key, nonce } = deriveKey(privateKey, publicKeyOf(signerKey), [ephemeral, signerKey], context)
  const cipher = createCipheriv(CIPHER, key, nonce)
  return Buffer.concat([ephemeral, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

/** What was sealed; null where it was sealed to another key, in another context, or was changed. */
export function openSealed(privateKey: Uint8Array, sealed: Uint8Array, context: string): Buffer | null {
  const bytes = Buffer.from(sealed)
  if (bytes.length < KEY_BYTES + TAG_BYTES) return null
  const ephemeral = bytes.subarray(0, KEY_BYTES)
  const own = privateKeyOf(privateKey)
  try {
    const keys = [ephemeral, sealKeyOf(privateKey)]
    const { key, nonce } = deriveKey(own, publicKeyOf(ephemeral), keys, context)
    const decipher = createDecipheriv(CIPHER, key, nonce)
    decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(bytes.subarray(KEY_BYTES, -TAG_BYTES)), decipher.final()])
  } catch {
    // Whatever is wrong with it was made by somebody else: it says nothing.
    return null
  }
}

/** A fresh key for each ephemeral key, so that the nonce may be derived with it. */
function deriveKey(
  privateKey: KeyObject,
  publicKey: KeyObject,
  keys: readonly Uint8Array[],
  context: string,
): { readonly key: Buffer; readonly nonce: Buffer } {
  const shared = diffieHellman({ privateKey, publicKey })
  const info = Buffer.from(`paylink sealed to signer 1\n${context}`)
  const derived = Buffer.from(hkdfSync('sha256', shared, Buffer.concat(keys), info, KEY_BYTES + NONCE_BYTES))
  return { key: derived.subarray(0, KEY_BYTES), nonce: derived.subarray(KEY_BYTES) }
}

const privateKeyOf = (bytes: Uint8Array): KeyObject =>
  createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, bytes]), format: 'der', type: 'pkcs8' })
const publicKeyOf = (bytes: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.concat([SPKI_PREFIX, bytes]), format: 'der', type: 'spki' })
const rawOf = (key: KeyObject): Buffer =>
  key.export({ format: 'der', type: 'spki' }).subarray(SPKI_PREFIX.length)
