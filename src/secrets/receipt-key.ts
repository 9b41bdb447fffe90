import { createHash } from 'node:crypto'
import { signedText } from '../core/receipt/receipt.ts'
import type { Keyring } from './keyring.ts'
import { isSignedBy, openSigningKey } from './signing-key.ts'

const PURPOSE = 'receipt_key/1'
const ALGORITHM = 'Ed25519'
const KEY_ID_BYTES = 16
const SIGNATURE_BYTES = 64

/** A public key as a JSON Web Key (RFC 8037 §2), as it stands at `/.well-known/paylink-receipts.json`. */
export type PublicReceiptKey = {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly alg: 'EdDSA'
  readonly use: 'sig'
  readonly kid: string
  /** base64url of the 32 bytes. */
  readonly x: string
}

type SignedReceipt = {
  readonly receipt: object
  readonly signature: { readonly algorithm: 'Ed25519'; readonly key_id: string; readonly value: string }
}

type ReceiptKey = {
  readonly publicKey: PublicReceiptKey
  sign(receipt: object): SignedReceipt
}

/** The installation's key for receipts, derived from its secret key: kept nowhere, and the same after every start. */
export function openReceiptKey(keyring: Keyring): ReceiptKey {
  const seed = keyring.mac(PURPOSE, Buffer.from(ALGORITHM))
  const key = openSigningKey(seed)
  const x = key.publicKey.toString('base64url')
  const kid = keyIdOf(x)
  return {
    publicKey: { kty: 'OKP', crv: ALGORITHM, alg: 'EdDSA', use: 'sig', kid, x },
    sign: (receipt) => {
      const value = key.sign(Buffer.from(signedText(receipt))).toString('base64url')
      return { receipt, signature: { algorithm: ALGORITHM, key_id: kid, value } }
    },
  }
}

export type ReceiptVerdict =
  | { readonly kind: 'genuine'; readonly receipt: { readonly [field: string]: unknown } }
  /** Not the form of a signed receipt; `fault` says where. */
  | { readonly kind: 'malformed'; readonly fault: string }
  /** Signed with a key that is not among the given ones. */
  | { readonly kind: 'unknown_key'; readonly keyId: string }
  /** Changed after it was signed, or never signed with that key. */
  | { readonly kind: 'changed' }

/** Judges a parsed receipt by the given public keys. Every field of it is signed but for `signature` itself. */
export function judgeReceipt(document: unknown, keys: readonly PublicReceiptKey[]): ReceiptVerdict {
  const malformed = (fault: string): ReceiptVerdict => ({ kind: 'malformed', fault })
  if (!hasFields(document, ['receipt', 'signature'])) return malformed('it must have receipt and signature')
  const { receipt, signature } = document
  if (!hasFields(signature, ['algorithm', 'key_id', 'value']))
    return malformed('signature must have algorithm, key_id and value')
  const { algorithm, key_id: keyId, value } = signature
  if (algorithm !== ALGORITHM) return malformed(`signature.algorithm must be ${ALGORITHM}`)
  if (typeof keyId !== 'string') return malformed('signature.key_id must be a text')
  const bytes = typeof value === 'string' ? Buffer.from(value, 'base64url') : null
  if (bytes?.length !== SIGNATURE_BYTES || bytes.toString('base64url') !== value)
    return malformed(`signature.value must be base64url of ${SIGNATURE_BYTES} bytes`)
  if (!isObject(receipt)) return malformed('receipt must be an object')
  const key = keys.find(({ kid }) => kid === keyId)
  if (key === undefined) return { kind: 'unknown_key', keyId }
  const text = textOf(receipt)
  if (text === null) return malformed('receipt holds a value that no receipt has')
  return isSignedBy(Buffer.from(key.x, 'base64url'), Buffer.from(text), bytes)
    ? { kind: 'genuine', receipt }
    : { kind: 'changed' }
}

/**
 * The keys of a published document, or null where it is none. A key's id is the hash of the key: another key under
 * a known id is refused.
 */
export function readPublicKeys(document: unknown): PublicReceiptKey[] | null {
  if (!isObject(document) || !Array.isArray(document.keys) || document.keys.length === 0) return null
  const keys = document.keys.map((key: unknown): PublicReceiptKey | null => {
    if (!isObject(key) || key.kty !== 'OKP' || key.crv !== ALGORITHM) return null
    const { x, kid } = key
    if (typeof x !== 'string' || !/^[A-Za-z0-9_-]{43}$/.test(x) || kid !== keyIdOf(x)) return null
    return { kty: 'OKP', crv: ALGORITHM, alg: 'EdDSA', use: 'sig', kid: keyIdOf(x), x }
  })
  return keys.every((key) => key !== null) ? keys : null
}

const keyIdOf = (x: string): string =>
  createHash('sha256').update(Buffer.from(x, 'base64url')).digest().subarray(0, KEY_ID_BYTES).toString('hex')

function textOf(receipt: object): string | null {
  try {
    return signedText(receipt)
  } catch (error) {
    if (error instanceof Error && error.name === 'NotCanonical') return null
    throw error
  }
}

const isObject = (value: unknown): value is { readonly [field: string]: unknown } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function hasFields<Name extends string>(
  value: unknown,
  names: readonly Name[],
): value is { readonly [field in Name]: unknown } {
  return (
    isObject(value) &&
    Object.keys(value).length === names.length &&
    names.every((name) => Object.hasOwn(value, name))
  )
}
