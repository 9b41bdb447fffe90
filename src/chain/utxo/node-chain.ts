import { z } from 'zod'
import type { BlockRef } from '../../core/invoice/types.ts'
import { BlockPruned, ChainUnavailable } from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import { concurrently } from '../concurrently.ts'
import { type BlockSource, knownHeader, provedBlock, type ReadBlock, referenceOf } from './block-source.ts'
import {
  type ChainAnswer,
  chainSchema,
  chainTipsSchema,
  connectionsSchema,
  type HeaderAnswer,
  hashSchema,
  headerSchema,
  mempoolSchema,
  parseHex,
} from './node-answers.ts'
import { isPruned, RPC_CODES, type RpcClient, RpcError } from './rpc-client.ts'

/** Headers ahead of blocks by more than this: the node is fetching blocks, not just waiting for the newest. */
const HEADERS_AHEAD_MAX = 2
/** Hashes asked for in one request; a node that is asked for more at once answers nobody else meanwhile. */
const HASHES_PER_BATCH = 200
const HASHES_IN_FLIGHT = 4
/** Requests for blocks at a time; a node works on four by default (-rpcthreads). */
const BLOCK_REQUESTS_IN_FLIGHT = 4
/** Small blocks come several in one answer, which has about this many bytes of hex. */
const ANSWER_BYTES = 1_000_000
/** So many of the largest blocks, of 8 MB of hex, are still an answer that is taken. */
const BLOCKS_PER_BATCH_MAX = 8

const LOOK = [
  { method: 'getbestblockhash', params: [] },
  { method: 'getmempoolinfo', params: [] },
]
/** Transactions in the mempool, and their virtual bytes. */
export type NodeLook = { readonly tip: string; readonly size: number; readonly bytes: number }

/** What a node of Bitcoin Core's family knows of its chain, checked as far as one node's word can be checked. */
export class NodeChain implements BlockSource {
  readonly #rpc: RpcClient
  readonly #watched: AddressSet
  #lastTip: BlockRef | null = null
  #servesBatches = true
  /** The largest block since a few were last asked for. None was read yet: so large that each comes alone. */
  #largestHex = ANSWER_BYTES

  constructor(rpc: RpcClient, watched: AddressSet) {
    this.#rpc = rpc
    this.#watched = watched
  }

  state(): Promise<ChainAnswer> {
    return this.#rpc.call('getblockchaininfo', [], chainSchema)
  }

  /** How many other nodes it is connected to; null where a provider keeps that to itself. */
  async connections(): Promise<number | null> {
    try {
      return (await this.#rpc.call('getnetworkinfo', [], connectionsSchema)).connections ?? null
    } catch (error) {
      if (error instanceof RpcError) return null
      throw error
    }
  }

  bestHash(): Promise<string> {
    return this.#rpc.call('getbestblockhash', [], hashSchema)
  }

  /** The tip, and the extent of the mempool. */
  async look(): Promise<NodeLook> {
    const both = this.#servesBatches ? await this.#rpc.callTogether(LOOK) : null
    if (both === null) {
      const [tip, mempool] = await Promise.all([
        this.bestHash(),
        this.#rpc.call('getmempoolinfo', [], mempoolSchema),
      ])
      this.#servesBatches = false
      return { tip, ...mempool }
    }
    const tip = this.#rpc.parseResult('getbestblockhash', both[0], hashSchema)
    return { tip, ...this.#rpc.parseResult('getmempoolinfo', both[1], mempoolSchema) }
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
    const calls = heights.map((height) => [height])
    const hashes = await this.#callEach('getblockhash', calls, hashSchema)
    return hashes ?? concurrently(heights, HASHES_IN_FLIGHT, (height) => this.hashAt(height))
  }

  /** Null where there is but one call, or what answers serves no batches. */
  async #callEach<Result>(
    method: string,
    calls: readonly (readonly unknown[])[],
    schema: z.ZodType<Result>,
  ): Promise<Result[] | null> {
    if (calls.length === 1 || !this.#servesBatches) return null
    const results = await this.#rpc.callEach(method, calls, schema)
    if (results === null) this.#servesBatches = false
    return results
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
    return this.#proved(hash, await explained(hash, this.#rpc.callRaw('getblock', [hash, 0])))
  }

  /** Several in one request while blocks are small: a request costs both sides more than such a block. */
  async readBlocks(hashes: readonly string[]): Promise<ReadBlock[]> {
    const size = Math.max(1, Math.min(BLOCKS_PER_BATCH_MAX, Math.floor(ANSWER_BYTES / this.#largestHex)))
    if (hashes.length > 0) this.#largestHex = 1
    const count = Math.ceil(hashes.length / size)
    const batches = Array.from({ length: count }, (_, at) => hashes.slice(at * size, (at + 1) * size))
    const blocks = await concurrently(batches, BLOCK_REQUESTS_IN_FLIGHT, (batch) => this.#readBatch(batch))
    return blocks.flat()
  }

  async #readBatch(hashes: readonly string[]): Promise<ReadBlock[]> {
    const calls = hashes.map((hash) => [hash, 0])
    const named =
      hashes.length === 1 ? `${hashes[0]}` : `${hashes[0]} or one of the ${hashes.length - 1} above it`
    const raw = await explained(named, this.#callEach('getblock', calls, z.unknown()))
    if (raw !== null) return hashes.map((hash, index) => this.#proved(hash, raw[index]))
    const blocks: ReadBlock[] = []
    for (const hash of hashes) blocks.push(await this.readBlock(hash))
    return blocks
  }

  #proved(hash: string, hex: unknown): ReadBlock {
    const bytes = parseHex(hex)
    if (bytes === null) throw new ChainUnavailable(`the node sent block ${hash} in a form that is not known`)
    this.#largestHex = Math.max(this.#largestHex, bytes.length * 2)
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
}

/** The answer, or an error that says what to do where the node has thrown the block away. */
async function explained<Result>(block: string, answer: Promise<Result>): Promise<Result> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof RpcError && isPruned(error)) {
      throw new BlockPruned(
        `the node has pruned block ${block}, which was not read yet: use a node that still has it, or raise prune= and sync again`,
        { cause: error },
      )
    }
    throw error
  }
}

/** Why the node is not yet where its chain is; null where it is. A private chain may stand still for long. */
export function syncingReason(state: ChainAnswer, isolated: boolean): string | null {
  const position = `block ${state.blocks} of ${state.headers}`
  if (state.headers > state.blocks + HEADERS_AHEAD_MAX && !isolated) return `the node is syncing: ${position}`
  if (state.initialblockdownload === true && !isolated)
    return `the node is in its initial download: ${position}`
  return null
}
