import { receiveKeys } from '../receive-keys.ts'
import { evmAddressOf } from './address.ts'

/** The 20-byte addresses of an account's receiving keys, which are the same on every EVM chain. */
export function receiveEvmAddresses(xpub: string): (index: number) => Uint8Array {
  const keyAt = receiveKeys(xpub)
  return (index) => evmAddressOf(keyAt(index))
}
