import { keccak_256 } from '@noble/hashes/sha3.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { contractCall, wordOf } from './contract-call.ts'

/** A token contract's EIP-712 domain. */
export type TokenDomain = {
  readonly name: string
  readonly version: string
  readonly chainId: bigint
  /** 20 bytes. */
  readonly contract: Uint8Array
}

/** What its holder allows with a signature: to whom, how much, and a name of its own that is used up. */
export type TokenAuthorization = {
  readonly from: Uint8Array
  readonly to: Uint8Array
  readonly value: bigint
  /** 32 bytes. */
  readonly nonce: Uint8Array
}

/** A recoverable signature: which of the two points, and two numbers of 32 bytes. */
export type EvmSignature = { readonly parity: 0 | 1; readonly r: bigint; readonly s: bigint }

const hashOf = (text: string): Uint8Array => keccak_256(utf8ToBytes(text))
const DOMAIN_TYPE = hashOf(
  'EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)',
)
/** EIP-3009. Only whom it pays can use it, so that nobody who sees it waiting makes our transaction fail by being first. */
const RECEIVE_TYPE = hashOf(
  'ReceiveWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
)
const RECEIVE_CALL =
  'receiveWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)'
const VALID_AFTER = 0n
/** For ever: it pays nobody but us, and the same bytes must be good after any outage. */
const VALID_BEFORE = 2n ** 256n - 1n
/** EIP-712. */
const PREFIX = Uint8Array.of(0x19, 0x01)

/** The name under which a contract knows its domain, 32 bytes (EIP-712). */
export function domainSeparatorOf({ name, version, chainId, contract }: TokenDomain): Uint8Array {
  const words = [hashOf(name), hashOf(version), wordOf(chainId), wordOf(contract)]
  return keccak_256(concatBytes(DOMAIN_TYPE, ...words))
}

const termsOf = ({ from, to, value, nonce }: TokenAuthorization) =>
  [from, to, value, VALID_AFTER, VALID_BEFORE, nonce] as const

/** What the holder signs: 32 bytes (EIP-3009 over EIP-712). */
export function authorizationHashOf(domain: TokenDomain, authorization: TokenAuthorization): Uint8Array {
  const struct = keccak_256(concatBytes(RECEIVE_TYPE, ...termsOf(authorization).map(wordOf)))
  return keccak_256(concatBytes(PREFIX, domainSeparatorOf(domain), struct))
}

/** The call by which whom it pays uses an authorization. */
export function authorizedCall(authorization: TokenAuthorization, signature: EvmSignature): Uint8Array {
  const { parity, r, s } = signature
  return contractCall(RECEIVE_CALL, ...termsOf(authorization), BigInt(27 + parity), r, s)
}
