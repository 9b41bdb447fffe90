import { authorization, ethHex, Transaction } from 'micro-eth-signer'
import { encodeEvmAddress } from './address.ts'

/** What an address signs to run the code of another from now on (EIP-7702), on one chain and with one of its own nonces. */
type Delegation = {
  readonly chainId: bigint
  /** 20 bytes. */
  readonly to: Uint8Array
  readonly nonce: bigint
}

export type SignedDelegation = Delegation & {
  readonly parity: 0 | 1
  readonly r: bigint
  readonly s: bigint
}

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
  /** Carried by it, and good even where it reverts (EIP-7702). */
  readonly delegation?: SignedDelegation | undefined
}

const PLAIN = 'eip1559'
const DELEGATING = 'eip7702'

/** Signs a delegation. The same key signs the same one with the same bytes (RFC 6979). */
export function signDelegation(delegation: Delegation, key: Uint8Array): SignedDelegation {
  const { chainId, to, nonce } = delegation
  const { r, s, yParity } = authorization.sign({ chainId, address: encodeEvmAddress(to), nonce }, key, false)
  if (yParity !== 0 && yParity !== 1) throw new Error('a signature whose point cannot be recovered')
  return { chainId, to, nonce, parity: yParity, r, s }
}

/**
 * The signed bytes, and their hash, which is the transaction's id, with 0x. The same key signs the same terms with the
 * same bytes (RFC 6979): that is how the signer knows its own signatures again.
 */
export function signTransaction(
  { gas, to, data, delegation, ...terms }: EvmTransaction,
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
  const open =
    delegation === undefined
      ? new Transaction(PLAIN, fields, { strict: false })
      : new Transaction(DELEGATING, { ...fields, authorizationList: [itemOf(delegation)] }, { strict: false })
  const signed = open.signBy(key, false)
  return { txid: signed.hash, raw: Buffer.from(signed.toBytes()) }
}

const itemOf = ({ chainId, to, nonce, parity, r, s }: SignedDelegation) => ({
  chainId,
  address: encodeEvmAddress(to),
  nonce,
  yParity: parity,
  r,
  s,
})

/** Who signed a delegation, in lower-case hex with 0x; null where nobody did. */
export function delegatorOf(signed: SignedDelegation): string | null {
  try {
    return authorization.getAuthority(itemOf(signed)).toLowerCase()
  } catch {
    // What the library cannot recover nobody signed, which is the answer.
    return null
  }
}

/** What signed bytes say, whoever signed them; null where they are no transaction of these types. */
export function readTransaction(raw: Uint8Array): EvmTransaction | null {
  const read = parse(raw)
  if (read?.isSigned !== true) return null
  if (isPlain(read)) return termsOf(read.raw)
  if (!isDelegating(read)) return null
  const [item, ...others] = read.raw.authorizationList
  if (item === undefined || others.length > 0 || (item.yParity !== 0 && item.yParity !== 1)) return null
  const { chainId, address, nonce, yParity: parity, r, s } = item
  return { ...termsOf(read.raw), delegation: { chainId, to: ethHex.decode(address), nonce, parity, r, s } }
}

type Read = ReturnType<typeof Transaction.fromBytes>
type Plain = InstanceType<typeof Transaction<typeof PLAIN>>
type Delegating = InstanceType<typeof Transaction<typeof DELEGATING>>

const isPlain = (read: Read): read is Plain => read.type === PLAIN
const isDelegating = (read: Read): read is Delegating => read.type === DELEGATING

function termsOf(said: Plain['raw'] | Delegating['raw']): EvmTransaction {
  const { chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gasLimit: gas, value } = said
  const [to, data] = [ethHex.decode(said.to), ethHex.decode(said.data)]
  return { chainId, nonce, maxPriorityFeePerGas, maxFeePerGas, gas, to, value, data }
}

function parse(raw: Uint8Array): Read | null {
  try {
    return Transaction.fromBytes(raw)
  } catch {
    // What the library cannot read is no transaction, which is the answer.
    return null
  }
}
