import { createPublicKey, verify } from 'node:crypto'
import { type AddressBatch, addressBatchMessage } from '../core/address-batch.ts'

const SIGNATURE_BYTES = 64

/** Whether a batch of addresses carries the signature (Ed25519, RFC 8032) of whoever holds this key's private half. */
export function isBatchSigned(
  batch: AddressBatch & { readonly signature: Uint8Array },
  batchKey: Uint8Array,
): boolean {
  if (batch.signature.length !== SIGNATURE_BYTES) return false
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(batchKey).toString('base64url') }
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  return verify(null, addressBatchMessage(batch), key, batch.signature)
}
