import { createHash } from 'node:crypto'
import {
  type Address,
  getAddressDecoder,
  getBase58Decoder,
  getCompiledTransactionMessageDecoder,
  getTransactionDecoder,
} from '@solana/kit'
import { ADVANCE_NONCE_ACCOUNT_DISCRIMINATOR, SYSTEM_PROGRAM_ADDRESS } from '@solana-program/system'

/** The wire limit of a transaction: an IPv6 packet's 1,280 bytes less its headers. */
export const TRANSACTION_BYTES_MAX = 1_232
/** A transaction of version 1 may be larger (SIMD-0296). */
export const TRANSACTION_V1_BYTES_MAX = 4_096

type TableLookup = {
  readonly table: Address
  readonly writable: readonly number[]
  readonly readonly: readonly number[]
}

export type ReadTransaction = {
  readonly bytes: Uint8Array
  /** Base58 of the first signature, by which a transaction is named. */
  readonly signature: string
  readonly signatures: readonly string[]
  readonly version: 'legacy' | 0 | 1
  /** A recent block's hash, or the value of a durable nonce. */
  readonly lifetime: string
  readonly staticKeys: readonly {
    readonly pubkey: Address
    readonly signer: boolean
    readonly writable: boolean
  }[]
  readonly lookups: readonly TableLookup[]
  /** The account of the durable nonce that the first instruction advances; null where none does. */
  readonly nonceAccount: Address | null
  readonly instructions: readonly { programIdIndex: number; accounts: readonly number[]; data: Uint8Array }[]
}

/** Reads a signed transaction; throws where it is none. */
export function readTransaction(bytes: Uint8Array): ReadTransaction {
  const wire = getTransactionDecoder().decode(bytes)
  const message = getCompiledTransactionMessageDecoder().decode(wire.messageBytes)
  const signatures = Object.values(wire.signatures).map((signature) => {
    if (signature === null) throw new Error('a signature is missing')
    return getBase58Decoder().decode(signature)
  })
  const [signature] = signatures
  if (signature === undefined) throw new Error('the transaction has no signature')
  const { numSignerAccounts, numReadonlySignerAccounts, numReadonlyNonSignerAccounts } = message.header
  const staticKeys = message.staticAccounts.map((pubkey, index) => {
    const signer = index < numSignerAccounts
    const writable = signer
      ? index < numSignerAccounts - numReadonlySignerAccounts
      : index < message.staticAccounts.length - numReadonlyNonSignerAccounts
    return { pubkey, signer, writable }
  })
  const lookups =
    'addressTableLookups' in message
      ? (message.addressTableLookups ?? []).map((lookup) => ({
          table: lookup.lookupTableAddress,
          writable: lookup.writableIndexes,
          readonly: lookup.readonlyIndexes,
        }))
      : []
  const instructions =
    'instructions' in message
      ? message.instructions.map((instruction) => ({
          programIdIndex: instruction.programAddressIndex,
          accounts: instruction.accountIndices ?? [],
          data: new Uint8Array(instruction.data ?? []),
        }))
      : message.instructionHeaders.map((header, index) => ({
          programIdIndex: header.programAccountIndex,
          accounts: message.instructionPayloads[index]?.instructionAccountIndices ?? [],
          data: new Uint8Array(message.instructionPayloads[index]?.instructionData ?? []),
        }))
  return {
    bytes,
    signature,
    signatures,
    version: message.version,
    lifetime: String(message.lifetimeToken),
    staticKeys,
    lookups,
    nonceAccount: nonceAccountOf(staticKeys, instructions[0]),
    instructions,
  }
}

function nonceAccountOf(
  keys: ReadTransaction['staticKeys'],
  first: ReadTransaction['instructions'][number] | undefined,
): Address | null {
  if (first === undefined || keys[first.programIdIndex]?.pubkey !== SYSTEM_PROGRAM_ADDRESS) return null
  const { data, accounts } = first
  if (
    data.length < 4 ||
    new DataView(data.buffer, data.byteOffset).getUint32(0, true) !== ADVANCE_NONCE_ACCOUNT_DISCRIMINATOR
  )
    return null
  return keys[accounts[0] ?? -1]?.pubkey ?? null
}

/** A block's hash on this chain: over its parent, its slot, its branch and what is in it. */
export function hashOfBlock(parts: {
  readonly parentHash: string
  readonly slot: number
  readonly branch: number
  readonly signatures: readonly string[]
}): string {
  const text = JSON.stringify([parts.parentHash, parts.slot, parts.branch, parts.signatures])
  return getAddressDecoder().decode(createHash('sha256').update(text).digest())
}
