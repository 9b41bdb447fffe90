import { secp256k1 } from '@noble/curves/secp256k1.js'
import { hmac } from '@noble/hashes/hmac.js'
import { sha512 } from '@noble/hashes/sha2.js'
import { concatBytes } from '@noble/hashes/utils.js'
import { HDKey } from '@scure/bip32'

const { Point } = secp256k1

/** BIP44's chain of addresses that are given out, as opposed to change. */
const RECEIVE_CHAIN = 0
/** Non-hardened indexes end here (BIP32). */
export const RECEIVE_INDEX_MAX = 2 ** 31 - 1
/** The left half of HMAC-SHA512, which moves the parent's key. */
const TWEAK_BYTES = 32

/**
 * Derives the compressed public keys of an account's receiving addresses, `account/0/index`, from its extended
 * public key alone (BIP32's CKDpub, BIP44). One takes about half a millisecond: everything here is public, so the
 * multiplication need not take the same time for every number, as the library's own derivation does.
 */
export function receiveKeys(xpub: string): (index: number) => Uint8Array {
  const { publicKey, chainCode } = HDKey.fromExtendedKey(xpub).deriveChild(RECEIVE_CHAIN)
  if (publicKey === null || chainCode === null) throw new Error('an extended public key has no public key')
  const parent = Point.fromBytes(publicKey)
  return (index) => {
    if (!Number.isInteger(index) || index < 0 || index > RECEIVE_INDEX_MAX) {
      throw new Error(`${index} is no index of an address`)
    }
    const number = new Uint8Array(4)
    new DataView(number.buffer).setUint32(0, index)
    const tweak = hmac(sha512, chainCode, concatBytes(publicKey, number)).subarray(0, TWEAK_BYTES)
    // Throws for the one in 2^127 that has no key, where a library would take the next index's.
    return Point.BASE.multiplyUnsafe(Point.Fn.fromBytes(tweak)).add(parent).toBytes(true)
  }
}
