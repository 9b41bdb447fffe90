import { REGTEST_BITS } from './chain-parameters.ts'
import { ChainTransaction, encodeCoinbase, type TransactionOutput } from './chain-transaction.ts'
import {
  ByteReader,
  compactSize,
  EncodingError,
  fromDisplayHex,
  sha256d,
  toDisplayHex,
  uint32,
} from './encoding.ts'

const HEADER_BYTES = 80
/** Version bits with no deployment signalled (BIP9). */
const BLOCK_VERSION = 0x20000000
/** Regtest needs two hashes on average; more than this is a bug. */
const MAX_NONCES = 10_000
/** Regtest's target, 7fffff followed by 29 zero bytes: only its highest byte is worth comparing. */
const TARGET_HIGHEST_BYTE = 0x7f
const OP_RETURN = 0x6a
const OP_1 = 0x51
/** OP_RETURN, 36 bytes, and the header of a witness commitment (BIP141). */
const WITNESS_COMMITMENT_PREFIX = Buffer.from('6a24aa21a9ed', 'hex')
const WITNESS_RESERVED = Buffer.alloc(32)

type BlockHeader = {
  readonly version: number
  /** Display hex. */
  readonly previousHash: string
  readonly merkleRoot: string
  readonly timeS: number
  readonly bits: number
  readonly nonce: number
}

type Block = {
  /** Display hex. */
  readonly hash: string
  readonly header: BlockHeader
  readonly transactions: readonly ChainTransaction[]
}

/** Throws `EncodingError`. */
export function parseHeader(bytes: Uint8Array): BlockHeader {
  const reader = new ByteReader(bytes)
  const version = reader.int32()
  const previousHash = toDisplayHex(reader.take(32))
  const merkleRoot = toDisplayHex(reader.take(32))
  return {
    version,
    previousHash,
    merkleRoot,
    timeS: reader.uint32(),
    bits: reader.uint32(),
    nonce: reader.uint32(),
  }
}

export const blockHashBytes = (bytes: Uint8Array): Buffer => sha256d(bytes.subarray(0, HEADER_BYTES))

/** Throws `EncodingError`. */
export function parseBlock(bytes: Uint8Array): Block {
  const reader = new ByteReader(bytes)
  const header = parseHeader(reader.take(HEADER_BYTES))
  const count = reader.compactSize()
  if (count > reader.remaining) throw new EncodingError('a block claims more transactions than it has bytes')
  const transactions = Array.from({ length: count }, () => ChainTransaction.read(reader))
  if (reader.remaining > 0) throw new EncodingError('there are bytes behind the block')
  return { hash: toDisplayHex(blockHashBytes(bytes)), header, transactions }
}

/** The root of the tree of hashes; a level with an odd number repeats its last. */
function merkleRoot(leaves: readonly Uint8Array[]): Buffer {
  let level = leaves
  while (level.length > 1) {
    const above: Buffer[] = []
    for (let index = 0; index < level.length; index += 2) {
      const left = level[index] ?? new Uint8Array(32)
      above.push(sha256d(left, level[index + 1] ?? left))
    }
    level = above
  }
  return Buffer.from(level[0] ?? new Uint8Array(32))
}

/**
 * A block with its coinbase, its witness commitment where a transaction carries a witness, and the proof of
 * work done. `extraNonce` keeps two blocks at one height from having one hash.
 */
export function buildBlock(plan: {
  readonly height: number
  readonly previousHash: string
  readonly timeS: number
  readonly extraNonce: number
  readonly coinbaseOutputs: readonly TransactionOutput[]
  readonly transactions: readonly ChainTransaction[]
  readonly proofOfWork: (header: Uint8Array) => Uint8Array
}): Buffer {
  const coinbase = ChainTransaction.parse(buildCoinbase(plan))
  const transactions = [coinbase, ...plan.transactions]
  const header = Buffer.concat([
    uint32(BLOCK_VERSION),
    fromDisplayHex(plan.previousHash),
    merkleRoot(transactions.map((transaction) => transaction.txidBytes())),
    uint32(plan.timeS),
    uint32(REGTEST_BITS),
    uint32(0),
  ])
  let nonce = 0
  while (!meetsTarget(plan.proofOfWork(header))) {
    if (++nonce > MAX_NONCES) throw new Error('no nonce meets the target of regtest')
    header.writeUInt32LE(nonce, HEADER_BYTES - 4)
  }
  return Buffer.concat([
    header,
    compactSize(transactions.length),
    ...transactions.map((transaction) => transaction.bytes),
  ])
}

/**
 * Whether a hash lies below regtest's target, judged by its two highest bytes. The few hashes between
 * 7fff00… and the target itself are refused: a miner may be stricter than consensus.
 */
export function meetsTarget(hash: Uint8Array): boolean {
  const highest = hash[31] ?? 0xff
  return highest < TARGET_HIGHEST_BYTE || (highest === TARGET_HIGHEST_BYTE && (hash[30] ?? 0xff) < 0xff)
}

function buildCoinbase(plan: {
  readonly height: number
  readonly extraNonce: number
  readonly coinbaseOutputs: readonly TransactionOutput[]
  readonly transactions: readonly ChainTransaction[]
}): Buffer {
  const scriptSig = Buffer.concat([pushNumber(plan.height), Buffer.of(4), uint32(plan.extraNonce)])
  if (!plan.transactions.some((transaction) => transaction.witnesses.length > 0)) {
    return encodeCoinbase({ scriptSig, outputs: plan.coinbaseOutputs, witnessReserved: null })
  }
  const leaves = [Buffer.alloc(32), ...plan.transactions.map((transaction) => transaction.wtxidBytes())]
  const commitment = Buffer.concat([WITNESS_COMMITMENT_PREFIX, sha256d(merkleRoot(leaves), WITNESS_RESERVED)])
  const outputs = [...plan.coinbaseOutputs, { amount: 0n, script: commitment }]
  return encodeCoinbase({ scriptSig, outputs, witnessReserved: WITNESS_RESERVED })
}

/** A coinbase output that creates no coin: idle blocks leave nothing behind but their headers. */
export const NOTHING_CLAIMED: TransactionOutput = { amount: 0n, script: Buffer.of(OP_RETURN) }

/** An output that can never be spent and that no one needs to remember. */
export const isUnspendable = (script: Uint8Array): boolean => script[0] === OP_RETURN

/** The shortest script that pushes a positive number, as BIP34 wants the height. */
function pushNumber(value: number): Buffer {
  if (value >= 1 && value <= 16) return Buffer.of(OP_1 + value - 1)
  const digits: number[] = []
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) digits.push(rest % 256)
  // Script numbers carry their sign in the highest bit.
  if (((digits.at(-1) ?? 0) & 0x80) !== 0) digits.push(0)
  return Buffer.of(digits.length, ...digits)
}
