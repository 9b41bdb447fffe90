import { HDKey } from '@scure/bip32'
import { evmAddressOf } from './address.ts'

/** BIP44's chain of addresses that are not handed out. */
export const HOT_WALLET_CHAIN = 1
export const HOT_WALLET_INDEX = 0

/**
 * The 20 bytes of an account's hot wallet, `account/1/0`: where deposits are swept to, and where payouts come from. No
 * deposit address is on that chain, so that nobody is ever asked to pay there.
 */
export function hotWalletOf(xpub: string): Uint8Array {
  const { publicKey } = HDKey.fromExtendedKey(xpub)
    .deriveChild(HOT_WALLET_CHAIN)
    .deriveChild(HOT_WALLET_INDEX)
  if (publicKey === null) throw new Error('a derived key has no public key')
  return evmAddressOf(publicKey)
}
