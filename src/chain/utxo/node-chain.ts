import { type BlockRef, ChainHalted, ChainUnavailable } from '../adapter.ts'
import { type BlockSource, knownHeader, provedBlock, type ReadBlock, referenceOf } from './block-source.ts'
import { concurrently } from './concurrently.ts'
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

/** Headers ahead of blocks by more than this: the node is fetching blocks, not just waiting for the newest. */
const HEADERS_AHEAD_MAX = 2
/** Hashes asked for in one request; a node that is asked for more at once answers nobody else meanwhile. */
const HASHES_PER_BATCH = 200
const HASHES_IN_FLIGHT = 4

/** What a node of Bitcoin Core's family knows of its chain, checked as far as one node's word can be checked. */
export class NodeChain implements BlockSource {
  readonly #rpc: RpcClient
  readonly #watched: ProgramSet
  #lastTip: BlockRef | null = null
  #servesBatches = true

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

  /** Asks for many at a time; one after the other where what answers serves no batches. */
  async hashesAt(heights: readonly number[]): Promise<string[]> {
    const hashes: string[] = []
    for (let at = 0; at < heights.length; at += HASHES_PER_BATCH) {
      hashes.push(...(await this.#batchOfHashes(heights.slice(at, at + HASHES_PER_BATCH))))
    }
    return hashes
  }

  async #batchOfHashes(heights: readonly number[]): Promise<string[]> {
    if (heights.length > 1 && this.#servesBatches) {
      const calls = heights.map((height) => [height])
      const hashes = await this.#rpc.callEach('getblockhash', calls, hashSchema)
      if (hashes !== null) return hashes
      this.#servesBatches = false
    }
    return concurrently(heights, HASHES_IN_FLIGHT, (height) => this.hashAt(height))
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

  /** The block with this hash as a reference; the last one asked for is remembered. */
  async reference(hash: string): Promise<BlockRef> {
    if (this.#lastTip?.hash === hash) return this.#lastTip
    const header = await knownHeader(this, hash)
    this.#lastTip = referenceOf(header)
    return this.#lastTip
  }

  async readBlock(hash: string): Promise<ReadBlock> {
    const bytes = parseHex(await this.#rawBlock(hash))
    if (bytes === null) throw new ChainUnavailable(`the node sent block ${hash} in a form that is not known`)
    return provedBlock(hash, bytes, this.#watched)
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
