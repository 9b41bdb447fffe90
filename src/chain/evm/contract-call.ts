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

const WORD_DIGITS = WORD_BYTES * 2
/** A text as Solidity's ABI returns it: where it begins, its length, its bytes. */
export function textOfAnswer(answer: string): string {
  const digits = answer.slice(2)
  const length = Number.parseInt(digits.slice(WORD_DIGITS, 2 * WORD_DIGITS), 16)
  const text = digits.slice(2 * WORD_DIGITS, 2 * WORD_DIGITS + length * 2)
  return Buffer.from(text, 'hex').toString('utf8')
}
