import type { BlockRef } from '../../core/invoice/types.ts'
import {
  type BlockHistory,
  ChainHalted,
  ChainUnavailable,
  type ChainUpdate,
  type ScannedBlock,
} from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import type { HeaderAnswer } from './node-answers.ts'
import { hasTransactionsOfHeader, type ScannedBytes, type ScannedOutput, scanBlock } from './scan-block.ts'
import { MalformedBytes } from './transaction-reader.ts'

/** A block parsed from its bytes; its height is known only from the blocks below it. */
export type ReadBlock = Omit<ScannedBytes, 'spans'>

/** Where blocks are read from: a node's RPC, or an Esplora server. What it says is checked by who reads it. */
export interface BlockSource {
  bestHash(): Promise<string>
  hashAt(height: number): Promise<string>
  /** The hashes at these heights, in their order. A reorganisation may come in between: only parents prove. */
  hashesAt(heights: readonly number[]): Promise<string[]>
  /** The header with this hash; null where the source has no such block. */
  header(hash: string): Promise<HeaderAnswer | null>
  /** Reads and scans one block, proved against its hash by `provedBlock`. */
  readBlock(hash: string): Promise<ReadBlock>
  /** Reads several in their order, each proved in the same way. */
  readBlocks(hashes: readonly string[]): Promise<ReadBlock[]>
  /** Whether the source has declared invalid what it had built on or above this block. */
  wasDeclaredInvalid(block: BlockRef): Promise<boolean>
  /**
   * Throws where the difficulty of these blocks does not follow from that of the ancestor, on which they stand. Absent
   * where a node has checked that.
   */
  requireDifficulty?(step: Pick<ChainUpdate, 'ancestor' | 'blocks'>): Promise<void>
}

/** The header of a block that the source itself has just named. */
export async function knownHeader(source: BlockSource, hash: string): Promise<HeaderAnswer> {
  const header = await source.header(hash)
  if (header === null) throw new ChainUnavailable(`the node named block ${hash} and does not know it`)
  if (header.hash !== hash) throw new ChainHalted(`asked for block ${hash}, the node gave ${header.hash}`)
  return header
}

/**
 * Scans a block's bytes and proves them against the hash that was asked for: header and transactions both, so
 * that nothing was left out, added or changed on the way.
 */
export function provedBlock(hash: string, bytes: Uint8Array, watched: AddressSet): ReadBlock {
  let scanned: ScannedBytes
  try {
    scanned = scanBlock(bytes, watched)
  } catch (error) {
    if (!(error instanceof MalformedBytes)) throw error
    throw new ChainUnavailable(`the node sent block ${hash} damaged: ${error.message}`, { cause: error })
  }
  if (scanned.hash !== hash) throw new ChainHalted(`asked for block ${hash}, the node gave ${scanned.hash}`)
  if (!hasTransactionsOfHeader(bytes, scanned.spans)) {
    throw new ChainHalted(`the node sent block ${hash} with transactions that are not the block's`)
  }
  const { parentHash, timeMs, outputs } = scanned
  return { hash, parentHash, timeMs, outputs }
}

/** Reads `count` blocks from this height on. Whether they stand on one another is the caller's to see. */
export async function readHeights(
  source: BlockSource,
  range: { readonly first: number; readonly count: number; readonly asset: 'BTC' | 'LTC' },
): Promise<ScannedBlock[]> {
  const heights = Array.from({ length: range.count }, (_, index) => range.first + index)
  const blocks = await source.readBlocks(await source.hashesAt(heights))
  return blocks.map((read, index) => placeBlock(read, range.first + index, range.asset))
}

/** The source's blocks as they are reported once more. */
export function historyOf(source: BlockSource, asset: 'BTC' | 'LTC'): BlockHistory {
  return {
    hashAt: (height) => source.hashAt(height),
    isOnChain: async ({ hash }) => ((await source.header(hash))?.confirmations ?? 0) >= 1,
    readFrom: (first, count) => readHeights(source, { first, count, asset }),
  }
}

export function referenceOf(header: HeaderAnswer): BlockRef {
  return { height: header.height, hash: header.hash, timeMs: header.time * 1000 }
}

/** Gives a block its place, and its outputs the chain's asset. */
export function placeBlock(read: ReadBlock, height: number, asset: 'BTC' | 'LTC'): ScannedBlock {
  const { hash, parentHash, timeMs, outputs } = read
  return {
    block: { height, hash, timeMs },
    parentHash,
    transfers: outputs.map((output) => withAsset(output, asset)),
  }
}

export function withAsset(output: ScannedOutput, asset: 'BTC' | 'LTC') {
  return { ...output, asset }
}
