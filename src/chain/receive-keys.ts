import { HDKey } from '@scure/bip32'

/** BIP44's chain of addresses that are given out, as opposed to change. */
const RECEIVE_CHAIN = 0
/** Non-hardened indexes end here (BIP32). */
export const RECEIVE_INDEX_MAX = 2 ** 31 - 1

/**
 * Derives the compressed public keys of an account's receiving addresses, `account/0/index`, from its extended
 * public key alone (BIP32, BIP44). One takes about a millisecond.
 */
export function receiveKeys(xpub: string): (index: number) => Uint8Array {
  const chain = HDKey.fromExtendedKey(xpub).deriveChild(RECEIVE_CHAIN)
  return (index) => {
    if (!Number.isInteger(index) || index < 0 || index > RECEIVE_INDEX_MAX) {
      throw new Error(`${index} is no index of an address`)
    }
    const { publicKey } = chain.deriveChild(index)
    if (publicKey === null) throw new Error('a derived key has no public key')
    return publicKey
  }
}
