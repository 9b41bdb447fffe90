import { keccak_256 } from '@noble/hashes/sha3.js'
import { concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'

const SELECTOR_BYTES = 4
const WORD_BYTES = 32

/** An argument of a static type: a number, or bytes that are filled up on the left, as addresses are. */
type Word = bigint | Uint8Array

/** 32 bytes, filled up on the left. */
export function wordOf(value: Word): Uint8Array {
  if (typeof value === 'bigint') return hexToBytes(value.toString(16).padStart(WORD_BYTES * 2, '0'))
  const word = new Uint8Array(WORD_BYTES)
  word.set(value, WORD_BYTES - value.length)
  return word
}

/** The call of a contract's function by its signature, `transfer(address,uint256)`, with arguments of static types (Solidity's ABI). */
export function contractCall(signature: string, ...words: readonly Word[]): Uint8Array {
  const selector = keccak_256(utf8ToBytes(signature)).subarray(0, SELECTOR_BYTES)
  return concatBytes(selector, ...words.map(wordOf))
}

/** The call of a token's own transfer (EIP-20). */
export const tokenTransfer = (to: Uint8Array, amount: bigint): Uint8Array =>
  contractCall('transfer(address,uint256)', to, amount)
