import {
  ByteReader,
  compactSize,
  EncodingError,
  sha256d,
  toDisplayHex,
  uint32,
  uint64,
  withLength,
} from './encoding.ts'

type TransactionInput = {
  /** Display hex. */
  readonly txid: string
  readonly index: number
  readonly scriptSig: Uint8Array
  readonly sequence: number
}

export type TransactionOutput = { readonly amount: bigint; readonly script: Uint8Array }

const MIN_INPUT_BYTES = 41
const MIN_OUTPUT_BYTES = 9
const SEGWIT_MARKER_BYTES = 2
/** A non-witness byte weighs four, a witness byte one (BIP141). */
const WITNESS_SCALE = 4

/** The output that an input spends, as one string. */
export const outpointOf = (txid: string, index: number): string => `${txid}:${index}`

/** A transaction as it stands on the wire (BIP144), its ids computed when first asked for. */
export class ChainTransaction {
  /** The whole serialisation, witness included. */
  readonly bytes: Buffer
  readonly version: number
  readonly inputs: readonly TransactionInput[]
  readonly outputs: readonly TransactionOutput[]
  /** One stack for each input; empty where the transaction carries no witness. */
  readonly witnesses: readonly (readonly Uint8Array[])[]
  readonly lockTime: number
  /** The serialisation without marker, flag and witness. */
  private readonly stripped: readonly Uint8Array[]
  private cachedTxid: string | null = null

  private constructor(fields: {
    bytes: Buffer
    version: number
    inputs: readonly TransactionInput[]
    outputs: readonly TransactionOutput[]
    witnesses: readonly (readonly Uint8Array[])[]
    lockTime: number
    stripped: readonly Uint8Array[]
  }) {
    this.bytes = fields.bytes
    this.version = fields.version
    this.inputs = fields.inputs
    this.outputs = fields.outputs
    this.witnesses = fields.witnesses
    this.lockTime = fields.lockTime
    this.stripped = fields.stripped
  }

  /** One transaction and nothing behind it. Throws `EncodingError`. */
  static parse(bytes: Uint8Array): ChainTransaction {
    const reader = new ByteReader(bytes)
    const transaction = ChainTransaction.read(reader)
    if (reader.remaining > 0) throw new EncodingError('there are bytes behind the transaction')
    return transaction
  }

  /** The transaction at the reader's position. Throws `EncodingError`. */
  static read(reader: ByteReader): ChainTransaction {
    const start = reader.position
    const version = reader.int32()
    const segwit = reader.remaining > 1 && reader.bytes[reader.position] === 0
    if (segwit && reader.take(SEGWIT_MARKER_BYTES)[1] !== 1) throw new EncodingError('unknown flag')
    const bodyStart = reader.position
    const inputs = readMany(reader, MIN_INPUT_BYTES, readInput)
    const outputs = readMany(reader, MIN_OUTPUT_BYTES, readOutput)
    if (inputs.length === 0 || outputs.length === 0) throw new EncodingError('no inputs or no outputs')
    const bodyEnd = reader.position
    const witnesses = segwit ? inputs.map(() => readMany(reader, 1, (from) => from.withLength())) : []
    if (segwit && witnesses.every((stack) => stack.length === 0))
      throw new EncodingError('superfluous witness')
    const lockTimeStart = reader.position
    const lockTime = reader.uint32()
    const bytes = reader.bytes.subarray(start, reader.position)
    const part = (from: number, to: number) => reader.bytes.subarray(from, to)
    const stripped = [
      part(start, start + 4),
      part(bodyStart, bodyEnd),
      part(lockTimeStart, lockTimeStart + 4),
    ]
    return new ChainTransaction({ bytes, version, inputs, outputs, witnesses, lockTime, stripped })
  }

  /** Display hex; the witness is no part of it. */
  get txid(): string {
    this.cachedTxid ??= toDisplayHex(this.txidBytes())
    return this.cachedTxid
  }

  txidBytes(): Buffer {
    return sha256d(...this.stripped)
  }

  wtxidBytes(): Buffer {
    return sha256d(this.bytes)
  }

  get strippedSize(): number {
    return this.stripped.reduce((sum, part) => sum + part.length, 0)
  }

  get weight(): number {
    return this.strippedSize * (WITNESS_SCALE - 1) + this.bytes.length
  }

  get vsize(): number {
    return Math.ceil(this.weight / WITNESS_SCALE)
  }

  /** Any input may be replaced by a better paying transaction (BIP125). */
  get signalsReplacement(): boolean {
    return this.inputs.some((input) => input.sequence < 0xfffffffe)
  }
}

/** A block's first transaction: it spends nothing, and its script begins with the height (BIP34). */
export function encodeCoinbase(coinbase: {
  readonly scriptSig: Uint8Array
  readonly outputs: readonly TransactionOutput[]
  /** The reserved value that a witness commitment is hashed with (BIP141); absent without one. */
  readonly witnessReserved: Uint8Array | null
}): Buffer {
  const { scriptSig, outputs, witnessReserved } = coinbase
  const input = [Buffer.alloc(32), uint32(0xffffffff), withLength(scriptSig), uint32(0xffffffff)]
  const encodedOutputs = outputs.map((output) =>
    Buffer.concat([uint64(output.amount), withLength(output.script)]),
  )
  return Buffer.concat([
    uint32(2),
    ...(witnessReserved === null ? [] : [Buffer.of(0, 1)]),
    compactSize(1),
    ...input,
    compactSize(outputs.length),
    ...encodedOutputs,
    ...(witnessReserved === null ? [] : [compactSize(1), withLength(witnessReserved)]),
    uint32(0),
  ])
}

function readInput(reader: ByteReader): TransactionInput {
  const txid = toDisplayHex(reader.take(32))
  const index = reader.uint32()
  const scriptSig = reader.withLength()
  return { txid, index, scriptSig, sequence: reader.uint32() }
}

function readOutput(reader: ByteReader): TransactionOutput {
  const amount = reader.uint64()
  return { amount, script: reader.withLength() }
}

/** A counted list. The count is checked against the bytes that are left, so that no claim allocates memory. */
function readMany<Item>(reader: ByteReader, minBytes: number, read: (reader: ByteReader) => Item): Item[] {
  const count = reader.compactSize()
  if (count * minBytes > reader.remaining) throw new EncodingError('a list is longer than the bytes')
  return Array.from({ length: count }, () => read(reader))
}
