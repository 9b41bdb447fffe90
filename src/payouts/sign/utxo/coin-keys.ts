import type { HDKey } from '@scure/bip32'

/** A destination may be of any kind that its address was checked for. */
export const ANY_OUTPUT = { allowUnknownOutputs: true } as const

/** The key of a coin: `account/chain/index`, 0 receiving, 1 change. */
export function privateKeyAt(
  account: HDKey,
  chain: 0 | 1,
  index: number,
): { readonly privateKey: Uint8Array; readonly publicKey: Uint8Array } {
  const { privateKey, publicKey } = account.deriveChild(chain).deriveChild(index)
  if (privateKey === null || publicKey === null) throw new Error('an account has no private key')
  return { privateKey, publicKey }
}

export function publicKeyAt(account: HDKey, chain: 0 | 1, index: number): Uint8Array {
  const { publicKey } = account.deriveChild(chain).deriveChild(index)
  if (publicKey === null) throw new Error('an account has no public key')
  return publicKey
}
