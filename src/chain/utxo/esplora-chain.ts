import type { BlockRef } from '../../core/invoice/types.ts'
import { ChainUnavailable } from '../adapter.ts'
import { concurrently } from '../concurrently.ts'
import type { ProgramSet } from '../program-set.ts'
import { type BlockSource, knownHeader, provedBlock, type ReadBlock, referenceOf } from './block-source.ts'
import { blockStatusSchema, esploraBlockSchema } from './esplora-answers.ts'
import type { EsploraClient } from './esplora-client.ts'
import { type HeaderAnswer, hashSchema } from './node-answers.ts'

const HASHES_IN_FLIGHT = 4
const BLOCKS_IN_FLIGHT = 4

/** What an Esplora server knows of its chain. A new block costs two calls: the tip's hash and the block's bytes. */
export class EsploraChain implements BlockSource {
  readonly #client: EsploraClient
  readonly #watched: ProgramSet
  #lastTip: BlockRef | null = null

  constructor(client: EsploraClient, watched: ProgramSet) {
    this.#client = client
    this.#watched = watched
  }

  async bestHash(): Promise<string> {
    const path = '/blocks/tip/hash'
    const hash = await this.#client.text(path, hashSchema)
    if (hash === null) throw this.#client.missing(path)
    return hash
  }

  async hashAt(height: number): Promise<string> {
    const hash = await this.hashAtOrNull(height)
    if (hash === null) throw new ChainUnavailable(`the Esplora server has no block ${height}`)
    return hash
  }

  hashesAt(heights: readonly number[]): Promise<string[]> {
    return concurrently(heights, HASHES_IN_FLIGHT, (height) => this.hashAt(height))
  }

  /** Null where the server's chain ends below that height. */
  hashAtOrNull(height: number): Promise<string | null> {
    return this.#client.text(`/block-height/${height}`, hashSchema)
  }

  /** The server says whether a block is on its best chain, and not how deep: one confirmation stands for any. */
  async header(hash: string): Promise<HeaderAnswer | null> {
    const block = await this.#client.json(`/block/${hash}`, esploraBlockSchema)
    if (block === null) return null
    const status = await this.#client.json(`/block/${hash}/status`, blockStatusSchema)
    return {
      hash: block.id,
      height: block.height,
      time: block.timestamp,
      confirmations: status?.in_best_chain === true ? 1 : -1,
      ...(block.previousblockhash == null ? {} : { previousblockhash: block.previousblockhash }),
    }
  }

  /** The block with this hash as a reference; the last one asked for is remembered. */
  async reference(hash: string): Promise<BlockRef> {
    if (this.#lastTip?.hash === hash) return this.#lastTip
    this.#lastTip = referenceOf(await knownHeader(this, hash))
    return this.#lastTip
  }

  async readBlock(hash: string): Promise<ReadBlock> {
    const bytes = await this.#client.bytes(`/block/${hash}/raw`)
    if (bytes === null)
      throw new ChainUnavailable(`the Esplora server named block ${hash} and has no bytes of it`)
    return provedBlock(hash, bytes, this.#watched)
  }

  readBlocks(hashes: readonly string[]): Promise<ReadBlock[]> {
    return concurrently(hashes, BLOCKS_IN_FLIGHT, (hash) => this.readBlock(hash))
  }

  /** The API does not tell: a chain that is not longer than ours is waited for. */
  wasDeclaredInvalid(): Promise<boolean> {
    return Promise.resolve(false)
  }
}
