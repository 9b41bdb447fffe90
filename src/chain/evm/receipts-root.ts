import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes } from '@noble/hashes/utils.js'
import { RLP, type RLPInput } from 'micro-eth-signer/core/rlp.js'
import type { EvmLog, EvmReceipt } from './evm-answers.ts'

const LEGACY_TYPE = 0
/** A node of a trie shorter than this stands in its parent, and not its hash (Yellow Paper, appendix D). */
const INLINE_BYTES = 32

/**
 * The root of the trie of a block's receipts, as its header has it. Receipts that give the header's root are the
 * block's own, all of them and unchanged, whoever handed them over (EIP-2718, and Base's deposit receipts).
 */
export function receiptsRootOf(receipts: readonly EvmReceipt[]): string {
  const entries = receipts.map(
    (receipt, index): Entry => ({
      path: nibblesOf(RLP.encode(index)),
      value: encodeReceipt(receipt),
    }),
  )
  const root = entries.length === 0 ? new Uint8Array() : nodeOf(entries, 0)
  return `0x${bytesToHex(keccak_256(RLP.encode(root)))}`
}

function encodeReceipt(receipt: EvmReceipt): Uint8Array {
  const { type = LEGACY_TYPE, status, root = '0x', depositNonce, depositReceiptVersion } = receipt
  const fields: RLPInput[] = [
    status ?? bytesOf(root),
    receipt.cumulativeGasUsed,
    bytesOf(receipt.logsBloom),
    receipt.logs.map(encodeLog),
  ]
  // Before Canyon the nonce was returned and stood in no receipt: only a version says that it does.
  if (depositReceiptVersion != null) fields.push(depositNonce ?? 0n, depositReceiptVersion)
  const body = RLP.encode(fields)
  return type === LEGACY_TYPE ? body : concatBytes(new Uint8Array([type]), body)
}

const encodeLog = ({ address, topics, data }: EvmLog): RLPInput => [
  bytesOf(address),
  topics.map(bytesOf),
  bytesOf(data),
]

/** Of hex that was parsed: several times as fast as what the encoder does with it, which a block of thousands of logs shows. */
const bytesOf = (hex: string): Uint8Array => Buffer.from(hex.slice(2), 'hex')

type Entry = { readonly path: readonly number[]; readonly value: Uint8Array }

/** The node that holds these entries, which share the first `depth` nibbles of their paths. */
function nodeOf(entries: readonly Entry[], depth: number): RLPInput {
  const [first] = entries
  if (first === undefined) throw new Error('a node of a trie holds something')
  if (entries.length === 1) return [hexPrefix(first.path.slice(depth), true), first.value]
  const shared = sharedFrom(entries, depth)
  if (shared > depth) {
    return [hexPrefix(first.path.slice(depth, shared), false), referenceTo(nodeOf(entries, shared))]
  }
  const children = Array.from({ length: 16 }, (_, nibble): RLPInput => {
    const below = entries.filter(({ path }) => path[depth] === nibble)
    return below.length === 0 ? new Uint8Array() : referenceTo(nodeOf(below, depth + 1))
  })
  const own = entries.find(({ path }) => path.length === depth)
  return [...children, own?.value ?? new Uint8Array()]
}

function sharedFrom(entries: readonly Entry[], depth: number): number {
  const [first] = entries
  let shared = depth
  for (;;) {
    const nibble = first?.path[shared]
    if (nibble === undefined || entries.some(({ path }) => path[shared] !== nibble)) return shared
    shared += 1
  }
}

function referenceTo(node: RLPInput): RLPInput {
  const encoded = RLP.encode(node)
  return encoded.length < INLINE_BYTES ? node : keccak_256(encoded)
}

function hexPrefix(nibbles: readonly number[], isLeaf: boolean): Uint8Array {
  const flag = (isLeaf ? 2 : 0) + (nibbles.length % 2)
  const padded = nibbles.length % 2 === 1 ? [flag, ...nibbles] : [flag, 0, ...nibbles]
  return Uint8Array.from({ length: padded.length / 2 }, (_, index) => {
    return ((padded[index * 2] ?? 0) << 4) | (padded[index * 2 + 1] ?? 0)
  })
}

const nibblesOf = (bytes: Uint8Array): number[] => [...bytes].flatMap((byte) => [byte >>> 4, byte & 15])
