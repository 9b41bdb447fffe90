import { receiveKeys } from '../receive-keys.ts'
import { evmProgramOf } from './address.ts'

/** The 20-byte addresses of an account's receiving keys, which are the same on every EVM chain. */
export function receiveEvmPrograms(xpub: string): (index: number) => Uint8Array {
  const keyAt = receiveKeys(xpub)
  return (index) => evmProgramOf(keyAt(index))
}
