import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { evmAddressOf } from './address.ts'
import { contractCall, wordOf } from './contract-call.ts'
import { domainSeparatorOf, type TokenDomain } from './token-authorization.ts'

/** What a payer signs so that anybody may carry the transfer to the chain (EIP-3009). */
type SignedTransfer = {
  /** 20 bytes each. */
  readonly from: Uint8Array
  readonly to: Uint8Array
  readonly value: bigint
  readonly validAfter: bigint
  readonly validBefore: bigint
  /** 32 bytes. */
  readonly nonce: Uint8Array
  /** r, s and 27 or 28: 65 bytes. */
  readonly signature: Uint8Array
}

const TRANSFER_TYPE = keccak_256(
  utf8ToBytes(
    'TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)',
  ),
)
const TRANSFER_CALL =
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)'
/** EIP-712. */
const PREFIX = Uint8Array.of(0x19, 0x01)
const SIGNATURE_BYTES = 65
const SCALAR_BYTES = 32
/** What the contract calls the two points. */
const V_FIRST = 27

const termsOf = ({ from, to, value, validAfter, validBefore, nonce }: SignedTransfer) =>
  [from, to, value, validAfter, validBefore, nonce] as const

/** Whether the account that would pay has signed exactly this, for this token on this chain (EIP-712, EIP-2's lower s). */
export function isSignedByPayer(transfer: SignedTransfer, domain: TokenDomain): boolean {
  const struct = keccak_256(concatBytes(TRANSFER_TYPE, ...termsOf(transfer).map(wordOf)))
  const hash = keccak_256(concatBytes(PREFIX, domainSeparatorOf(domain), struct))
  const { r, s, parity } = partsOf(transfer.signature)
  if (parity !== 0 && parity !== 1) return false
  try {
    const signature = new secp256k1.Signature(BigInt(hexOf(r)), BigInt(hexOf(s)), parity)
    if (signature.hasHighS()) return false
    const signer = evmAddressOf(signature.recoverPublicKey(hash).toBytes())
    return hexOf(signer) === hexOf(transfer.from)
  } catch {
    // Numbers that are no point of the curve, which is whose fault is known: nobody signed this.
    return false
  }
}

/** The call that carries the transfer to the token's contract; who sends it makes no difference. */
export function payerTransferCall(transfer: SignedTransfer): Uint8Array {
  const { r, s, parity } = partsOf(transfer.signature)
  return contractCall(TRANSFER_CALL, ...termsOf(transfer), BigInt(V_FIRST + parity), r, s)
}

/** The last byte is 27 or 28, or 0 or 1 as some wallets have it. */
function partsOf(signature: Uint8Array): { r: Uint8Array; s: Uint8Array; parity: number } {
  if (signature.length !== SIGNATURE_BYTES) throw new Error(`${signature.length} bytes are no signature`)
  const last = signature[SIGNATURE_BYTES - 1] ?? 0
  return {
    r: signature.subarray(0, SCALAR_BYTES),
    s: signature.subarray(SCALAR_BYTES, 2 * SCALAR_BYTES),
    parity: last >= V_FIRST ? last - V_FIRST : last,
  }
}

const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
