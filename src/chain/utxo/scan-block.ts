import { COINBASE_CONFIRMATIONS, PEG_OUT_CONFIRMATIONS } from '../../core/chain/utxo-parameters.ts'
import type { AddressSet } from '../address-set.ts'
import { HASH_BYTES, merkleRoot, sha256d, toDisplayHex, transactionHash } from './hashes.ts'
import {
  MalformedBytes,
  type OutputHit,
  TransactionReader,
  type TransactionSpan,
} from './transaction-reader.ts'

const HEADER_BYTES = 80

/** A watched output. Amounts in base units. */
export type ScannedOutput = {
  readonly addressBytes: string
  readonly txid: string
  readonly outputIndex: number
  readonly amount: bigint
  readonly minimumConfirmations: number
}

export type ScannedBytes = {
  readonly hash: string
  readonly parentHash: string
  /** The header's time, which its miner chose. */
  readonly timeMs: number
  readonly outputs: readonly ScannedOutput[]
  /** Where each transaction lies, for `hasTransactionsOfHeader`. */
  readonly spans: readonly TransactionSpan[]
}

/**
 * One pass over a block in wire form: the header's hash, and the outputs that pay watched addresses. Ids are
 * computed only for transactions that do. Throws `MalformedBytes` where the block is cut off or is none.
 */
export function scanBlock(bytes: Uint8Array, watched: AddressSet): ScannedBytes {
  if (bytes.length <= HEADER_BYTES) throw new MalformedBytes('cut off in the header')
  const reader = new TransactionReader(bytes, HEADER_BYTES)
  const count = reader.readCount()
  const spans: TransactionSpan[] = []
  const outputs: ScannedOutput[] = []
  const paid: number[] = []
  for (let index = 0; index < count; index++) {
    spans.push(reader.skimTransaction(watched, paid))
  }
  reader.endSkim(watched, paid)
  // Litecoin's extension block follows its HogEx; the header's root does not cover it and we do not read it.
  if (!reader.atEnd && spans.at(-1)?.isHogEx !== true)
    throw new MalformedBytes('bytes after the last transaction')
  for (const index of transactionsAt(paid, spans)) outputs.push(...outputsOf(reader, index, spans, watched))
  const header = bytes.subarray(0, HEADER_BYTES)
  return {
    hash: toDisplayHex(sha256d(header)),
    parentHash: toDisplayHex(header.subarray(4, 36)),
    timeMs: new DataView(bytes.buffer, bytes.byteOffset).getUint32(68, true) * 1000,
    outputs,
    spans,
  }
}

/** Which transactions have these places in their outputs, in order. */
function transactionsAt(places: readonly number[], spans: readonly TransactionSpan[]): ReadonlySet<number> {
  const found = new Set<number>()
  let index = 0
  for (const place of places.toSorted((one, other) => one - other)) {
    while ((spans[index]?.bodyEnd ?? place + 1) <= place) index += 1
    found.add(index)
  }
  return found
}

function outputsOf(
  reader: TransactionReader,
  index: number,
  spans: readonly TransactionSpan[],
  watched: AddressSet,
): ScannedOutput[] {
  const span = spans[index]
  if (span === undefined) throw new Error('an output of no transaction')
  const txid = toDisplayHex(transactionHash(reader.bytes, span))
  return reader
    .outputsOf(span, watched)
    .map((hit) =>
      scannedOutput(reader.bytes, txid, hit, confirmationsBeforeSpending(index, span, hit.outputIndex)),
    )
}

/**
 * Whether these are the very transactions that the header commits to. With it a block's hash vouches for all we
 * read from its bytes: nothing can be left out, added or changed on the way.
 */
export function hasTransactionsOfHeader(bytes: Uint8Array, spans: readonly TransactionSpan[]): boolean {
  const root = merkleRoot(spans.map((span) => transactionHash(bytes, span)))
  return root !== null && Buffer.compare(root, bytes.subarray(36, 36 + HASH_BYTES)) === 0
}

/** The watched outputs of a transaction that stands alone, as a mempool gives it. */
export function scanTransaction(
  bytes: Uint8Array,
  watched: AddressSet,
): { readonly txid: string; readonly outputs: readonly ScannedOutput[] } | null {
  const reader = new TransactionReader(bytes, 0)
  const hits: OutputHit[] = []
  const span = reader.readTransaction(watched, hits)
  if (!reader.atEnd) throw new MalformedBytes('bytes after the transaction')
  if (hits.length === 0) return null
  const txid = toDisplayHex(transactionHash(bytes, span))
  return { txid, outputs: hits.map((hit) => scannedOutput(bytes, txid, hit, 1)) }
}

/** The coinbase is a block's first transaction; peg-outs are the HogEx's outputs after its first. */
function confirmationsBeforeSpending(index: number, span: TransactionSpan, outputIndex: number): number {
  if (index === 0) return COINBASE_CONFIRMATIONS
  return span.isHogEx && outputIndex > 0 ? PEG_OUT_CONFIRMATIONS : 1
}

function scannedOutput(
  bytes: Uint8Array,
  txid: string,
  hit: OutputHit,
  minimumConfirmations: number,
): ScannedOutput {
  const { outputIndex, amount, addressStart, addressLength } = hit
  const addressBytes = Buffer.from(bytes.subarray(addressStart, addressStart + addressLength)).toString('hex')
  return { addressBytes, txid, outputIndex, amount, minimumConfirmations }
}
