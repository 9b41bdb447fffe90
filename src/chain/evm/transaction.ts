import { ethHex, Transaction } from 'micro-eth-signer'
import { encodeEvmAddress } from './address.ts'

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

const TYPE = 'eip1559'

/**
 * The signed bytes, and their hash, which is the transaction's id, with 0x. The same key signs the same terms with the
 * same bytes (RFC 6979): that is how the signer knows its own signatures again.
 */
export function signTransaction(
  { gas, to, data, ...terms }: EvmTransaction,
  key: Uint8Array,
): { readonly txid: string; readonly raw: Buffer } {
  const fields = {
    ...terms,
    gasLimit: gas,
    to: encodeEvmAddress(to),
    data: ethHex.encode(data),
    accessList: [],
  }
  // Not strict: those limits, such as 131,072 transactions of an account, are for what people type.
  const signed = new Transaction(TYPE, fields, { strict: false }).signBy(key, false)
  return { txid: signed.hash, raw: Buffer.from(signed.toBytes()) }
}

/** What signed bytes say, whoever signed them; null where they are no transaction of this type. */
export function readTransaction(raw: Uint8Array): EvmTransaction | null {
  const read = parse(raw)
  if (read === null || !read.isSigned || !isOfType(read)) return null
  const { chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit: gas, value } = read.raw
  const [to, data] = [ethHex.decode(read.raw.to), ethHex.decode(read.raw.data)]
  return { chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas, to, value, data }
}

type Read = ReturnType<typeof Transaction.fromBytes>

const isOfType = (read: Read): read is InstanceType<typeof Transaction<typeof TYPE>> => read.type === TYPE

function parse(raw: Uint8Array): Read | null {
  try {
    return Transaction.fromBytes(raw)
  } catch {
    // What the library cannot read is no transaction, which is the answer.
    return null
  }
}
