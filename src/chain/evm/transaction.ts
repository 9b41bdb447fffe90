import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes } from '@noble/hashes/utils.js'
import { decodeFlatList, encodeRlp, integer, type Rlp } from './rlp.ts'

/** A transaction with a market for its fee (EIP-1559). Wei. */
export type EvmTransaction = {
  readonly chainId: bigint
  readonly nonce: bigint
  readonly maxPriorityFeePerGas: bigint
  readonly maxFeePerGas: bigint
  readonly gas: bigint
  /** 20 bytes. */
  readonly to: Uint8Array
  readonly value: bigint
  readonly data: Uint8Array
}

/** A recoverable signature: which of the two points, and two numbers of 32 bytes. */
export type EvmSignature = { readonly parity: 0 | 1; readonly r: bigint; readonly s: bigint }

/** EIP-2718. */
const TYPE = Uint8Array.of(2)

const fieldsOf = (transaction: EvmTransaction): Rlp[] => [
  integer(transaction.chainId),
  integer(transaction.nonce),
  integer(transaction.maxPriorityFeePerGas),
  integer(transaction.maxFeePerGas),
  integer(transaction.gas),
  transaction.to,
  integer(transaction.value),
  transaction.data,
  // No access list (EIP-2930).
  [],
]

/** What the sender signs: 32 bytes. */
export const signingHashOf = (transaction: EvmTransaction): Uint8Array =>
  keccak_256(concatBytes(TYPE, encodeRlp(fieldsOf(transaction))))

/** The signed bytes, and their hash, which is the transaction's id, with 0x. */
export function sealTransaction(
  transaction: EvmTransaction,
  { parity, r, s }: EvmSignature,
): { readonly txid: string; readonly raw: Buffer } {
  const signed = [...fieldsOf(transaction), integer(BigInt(parity)), integer(r), integer(s)]
  const raw = concatBytes(TYPE, encodeRlp(signed))
  return { txid: `0x${bytesToHex(keccak_256(raw))}`, raw: Buffer.from(raw) }
}

/** What signed bytes say, whoever signed them; null where they are no transaction of this type. */
export function readTransaction(raw: Uint8Array): EvmTransaction | null {
  if (raw[0] !== TYPE[0]) return null
  const fields = decodeFlatList(raw.subarray(1))
  if (fields === null || fields.length !== FIELDS) return null
  const [chainId, nonce, tip, maxFee, gas, to, value, data] = fields
  return {
    chainId: numberOf(chainId),
    nonce: numberOf(nonce),
    maxPriorityFeePerGas: numberOf(tip),
    maxFeePerGas: numberOf(maxFee),
    gas: numberOf(gas),
    to: to ?? new Uint8Array(),
    value: numberOf(value),
    data: data ?? new Uint8Array(),
  }
}

/** Of a signed transaction: what is signed, and the signature's three. */
const FIELDS = 12

const numberOf = (bytes: Uint8Array = new Uint8Array()): bigint =>
  bytes.length === 0 ? 0n : BigInt(`0x${bytesToHex(bytes)}`)
