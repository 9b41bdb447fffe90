import { ripemd160 } from '@noble/hashes/legacy.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { receiveKeys } from '../receive-keys.ts'

/** The P2WPKH witness programs (BIP141: HASH160 of the compressed public key) of an account's receiving addresses. */
export function receiveAddresses(xpub: string): (index: number) => Uint8Array {
  const keyAt = receiveKeys(xpub)
  return (index) => ripemd160(sha256(keyAt(index)))
}
