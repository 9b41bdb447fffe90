import { bech32 } from '@scure/base'

const WITNESS_VERSION_0 = 0
const ADDRESS_LENGTHS: readonly number[] = [20, 32]

/** The segwit version 0 address of a witness program (BIP173), lower case: upper case fails in several wallets. */
export function encodeAddress(hrp: string, addressBytes: Uint8Array): string {
  if (!ADDRESS_LENGTHS.includes(addressBytes.length)) {
    throw new Error(`a witness program of version 0 has 20 or 32 bytes, not ${addressBytes.length}`)
  }
  return bech32.encode(hrp, [WITNESS_VERSION_0, ...bech32.toWords(addressBytes)])
}
