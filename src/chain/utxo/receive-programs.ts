import { HDKey } from '@scure/bip32'

/** BIP44's chain of addresses that are given out, as opposed to change. */
const RECEIVE_CHAIN = 0
/** Non-hardened indexes end here (BIP32). */
export const RECEIVE_INDEX_MAX = 2 ** 31 - 1

/**
 * Derives the P2WPKH witness programs (BIP141: HASH160 of the compressed public key) of an account's receiving
 * addresses, `account/0/index`, from its extended public key alone. One takes about a millisecond.
 */
export function receivePrograms(xpub: string): (index: number) => Uint8Array {
  const chain = HDKey.fromExtendedKey(xpub).deriveChild(RECEIVE_CHAIN)
  return (index) => {
    if (!Number.isInteger(index) || index < 0 || index > RECEIVE_INDEX_MAX) {
      throw new Error(`${index} is no index of an address`)
    }
    const { pubKeyHash } = chain.deriveChild(index)
    if (pubKeyHash === undefined) throw new Error('a derived key has no public key')
    return pubKeyHash
  }
}
