import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto'
import type { Keyring } from './keyring.ts'

const PURPOSE = 'payout_approval_key/1'
const ALGORITHM = 'Ed25519'
/** PKCS #8 and SubjectPublicKeyInfo of an Ed25519 key up to its 32 bytes (RFC 8410 §4, §7). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')
const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex')

/** What the API signs approvals with; the signer knows its public half and nothing else of the API's secrets. */
type ApprovalKey = {
  /** 32 bytes. */
  readonly publicKey: Buffer
  /** Of a digest of 32 bytes; 64 bytes. */
  sign(digest: Uint8Array): Buffer
}

const opened = new WeakMap<Keyring, ApprovalKey>()

/** The installation's key for approvals, derived from its secret key: kept nowhere, and the same after every start. */
export function openApprovalKey(keyring: Keyring): ApprovalKey {
  const known = opened.get(keyring)
  if (known !== undefined) return known
  const seed = keyring.mac(PURPOSE, Buffer.from(ALGORITHM))
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_PREFIX, seed]), format: 'der', type: 'pkcs8' })
  const spki = createPublicKey(key).export({ format: 'der', type: 'spki' })
  const approvalKey: ApprovalKey = {
    publicKey: spki.subarray(SPKI_PREFIX.length),
    sign: (digest) => sign(null, digest, key),
  }
  opened.set(keyring, approvalKey)
  return approvalKey
}

/** SHA-256 of an approval's text (core/payout/approval-text). */
export const approvalDigest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Whether the API's key with these 32 public bytes signed the digest. */
export function isApprovedBy(publicKey: Uint8Array, digest: Uint8Array, signature: Uint8Array): boolean {
  return verify(null, digest, publicKeyOf(publicKey), signature)
}

const publicKeyOf = (bytes: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.concat([SPKI_PREFIX, bytes]), format: 'der', type: 'spki' })
