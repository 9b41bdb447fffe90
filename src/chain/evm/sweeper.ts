import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js'
import { contractCall, wordOf } from './contract-call.ts'
import { SWEEPER_CODE, SWEEPER_CREATION, SWEEPER_WORDS } from './sweeper-code.ts'

/**
 * The contract by which anybody puts code at an address that follows from the code alone (EIP-1014); the same on every
 * chain, and on anvil from its first block.
 */
export const CREATE2_DEPLOYER = hexToBytes('4e59b44847b379578588920ca78fbf26c0b4956c')
/** What stands at its address. */
export const CREATE2_DEPLOYER_CODE =
  '0x7fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe03601600081602082378035828234f58015156039578182fd5b8082525050506014600cf3'
const SALT = new Uint8Array(32)
const ADDRESS_AT = 12
const WORD_DIGITS = 64
/** What stands at an address that is delegated, before the address of what it runs (EIP-7702). */
const DELEGATION = '0xef0100'

const creationOf = (hot: Uint8Array): Uint8Array =>
  concatBytes(hexToBytes(SWEEPER_CREATION.slice(2)), wordOf(hot))

/** The address of a hot wallet's sweeper (contracts/Sweeper.sol), 20 bytes, whether or not it is there yet. */
export const sweeperOf = (hot: Uint8Array): Uint8Array =>
  keccak_256(concatBytes(Uint8Array.of(0xff), CREATE2_DEPLOYER, SALT, keccak_256(creationOf(hot)))).subarray(
    ADDRESS_AT,
  )

/** What is sent to the deployer so that the sweeper comes to stand at its address. */
export const sweeperDeployment = (hot: Uint8Array): Uint8Array => concatBytes(SALT, creationOf(hot))

/** The code of a hot wallet's sweeper, in hex with 0x. */
export function sweeperCodeOf(hot: Uint8Array): string {
  const put = (code: string, at: number, word: Uint8Array) =>
    `${code.slice(0, 2 + at * 2)}${bytesToHex(word)}${code.slice(2 + at * 2 + WORD_DIGITS)}`
  const [hotWord, selfWord] = [wordOf(hot), wordOf(sweeperOf(hot))]
  const withHot = SWEEPER_WORDS.hot.reduce((code, at) => put(code, at, hotWord), SWEEPER_CODE)
  return SWEEPER_WORDS.self.reduce((code, at) => put(code, at, selfWord), withHot)
}

/** What stands at a deposit address that is delegated to this sweeper, in hex with 0x. */
export const delegatedTo = (sweeper: Uint8Array): string => `${DELEGATION}${bytesToHex(sweeper)}`

/** The call of the sweeper by which the hot wallet takes an amount of a token from a deposit address, all of it or nothing. */
export const collectCall = (token: Uint8Array, deposit: Uint8Array, amount: bigint): Uint8Array =>
  contractCall('collect(address,address,uint256)', token, deposit, amount)
