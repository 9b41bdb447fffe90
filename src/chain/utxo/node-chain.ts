import { type BlockRef, ChainHalted, ChainUnavailable, type ScannedBlock } from '../adapter.ts'
import {
  type ChainAnswer,
  chainSchema,
  chainTipsSchema,
  type HeaderAnswer,
  hashSchema,
  headerSchema,
  parseHex,
} from './node-answers.ts'
import type { ProgramSet } from './program-set.ts'
import { RPC_CODES, type RpcClient, RpcError } from './rpc-client.ts'
import { hasTransactionsOfHeader, type ScannedBytes, type ScannedOutput, scanBlock } from './scan-block.ts'
import { MalformedBytes } from './transaction-reader.ts'

/** Headers ahead of blocks by more than this: the node is fetching blocks, not just waiting for the newest. */
const HEADERS_AHEAD_MAX = 2

/** A block as its bytes tell it; its height is known only from the blocks below it. */
export type ReadBlock = Omit<ScannedBytes, 'spans'>

/** What a node of Bitcoin Core's family knows of its chain, checked as far as one node's word can be checked. */
export class NodeChain {
  readonly #rpc: RpcClient
  readonly #watched: ProgramSet
  #lastTip: BlockRef | null = null

  constructor(rpc: RpcClient, watched: ProgramSet) {
    this.#rpc = rpc
    this.#watched = watched
  }

  state(): Promise<ChainAnswer> {
    return this.#rpc.call('getblockchaininfo', [], chainSchema)
  }

  bestHash(): Promise<string> {
    return this.#rpc.call('getbestblockhash', [], hashSchema)
  }

  hashAt(height: number): Promise<string> {
    return this.#rpc.call('getblockhash', [height], hashSchema)
  }

  /** The header with this hash; null where the node has no such block. */
  async header(hash: string): Promise<HeaderAnswer | null> {
    try {
      return await this.#rpc.call('getblockheader', [hash], headerSchema)
    } catch (error) {
      if (error instanceof RpcError && error.code === RPC_CODES.notFound) return null
      throw error
    }
  }

  /** The header of a block that the node itself has just named. */
  async knownHeader(hash: string): Promise<HeaderAnswer> {
    const header = await this.header(hash)
    if (header === null) throw new ChainUnavailable(`the node named block ${hash} and does not know it`)
    if (header.hash !== hash) throw new ChainHalted(`asked for block ${hash}, the node gave ${header.hash}`)
    return header
  }

  /** The block with this hash as a reference; the last one asked for is remembered. */
  async reference(hash: string): Promise<BlockRef> {
    if (this.#lastTip?.hash === hash) return this.#lastTip
    const header = await this.knownHeader(hash)
    this.#lastTip = referenceOf(header)
    return this.#lastTip
  }

  /**
   * Reads and scans one block. Its bytes are proved against the hash: header and transactions both, so that
   * nothing was left out, added or changed on the way.
   */
  async readBlock(hash: string): Promise<ReadBlock> {
    const bytes = parseHex(await this.#rawBlock(hash))
    if (bytes === null) throw new ChainUnavailable(`the node sent block ${hash} in a form that is not known`)
    let scanned: ScannedBytes
    try {
      scanned = scanBlock(bytes, this.#watched)
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

  /** Whether the node has declared invalid what it had built on or above this block. */
  async wasDeclaredInvalid(block: BlockRef): Promise<boolean> {
    const tips = await this.#rpc.call('getchaintips', [], chainTipsSchema)
    return tips.some(
      (tip) =>
        tip.status === 'invalid' && tip.height >= block.height && tip.height - tip.branchlen < block.height,
    )
  }

  async #rawBlock(hash: string): Promise<unknown> {
    try {
      return await this.#rpc.callRaw('getblock', [hash, 0])
    } catch (error) {
      if (error instanceof RpcError && /pruned/i.test(error.message)) {
        throw new ChainHalted(
          `the node has pruned block ${hash}, which was not read yet: use a node that still has it, or raise prune= and sync again`,
          { cause: error },
        )
      }
      throw error
    }
  }
}

/** Why the node is not yet where its chain is; null where it is. A chain of one's own may stand still for long. */
export function syncingReason(state: ChainAnswer, isolated: boolean): string | null {
  const position = `block ${state.blocks} of ${state.headers}`
  if (state.headers > state.blocks + HEADERS_AHEAD_MAX && !isolated) return `the node is syncing: ${position}`
  if (state.initialblockdownload === true && !isolated)
    return `the node is in its initial download: ${position}`
  return null
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
