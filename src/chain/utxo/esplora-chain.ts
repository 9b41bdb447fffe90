import { LRUCache } from 'lru-cache'
import { isPermittedChange, workFault } from '../../core/chain/header-work.ts'
import type { UtxoParameters } from '../../core/chain/utxo-parameters.ts'
import type { BlockRef } from '../../core/invoice/types.ts'
import { ChainUnavailable, type ChainUpdate } from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import { concurrently } from '../concurrently.ts'
import { type BlockSource, knownHeader, provedBlock, type ReadBlock, referenceOf } from './block-source.ts'
import { blockStatusSchema, type EsploraBlock, esploraBlockSchema } from './esplora-answers.ts'
import type { EsploraClient } from './esplora-client.ts'
import { miningHash, sha256d, toDisplayHex } from './hashes.ts'
import { type HeaderAnswer, hashSchema } from './node-answers.ts'

const HASHES_IN_FLIGHT = 4
const BLOCKS_IN_FLIGHT = 4
/** More than one step along the chain has. */
const HEADERS_KEPT_MAX = 5_000
const HEADER_BYTES = 80
/** Where the target stands in a header. */
const BITS_AT = 72

/**
 * What an Esplora server knows of its chain. A new block costs two calls: the tip's hash and the block's bytes. No node
 * of ours has checked what it says, so each header that is used must have its proof of work.
 */
export class EsploraChain implements BlockSource {
  readonly #client: EsploraClient
  readonly #watched: AddressSet
  readonly #recognize: (genesisHash: string) => UtxoParameters
  /** `bits` of the headers whose work was proved, by hash. */
  readonly #bits = new LRUCache<string, number>({ max: HEADERS_KEPT_MAX })
  #parameters: UtxoParameters | null = null
  #lastTip: BlockRef | null = null

  /** `recognize` says which chain has this genesis block, or throws where it may not be the network's. */
  constructor(
    client: EsploraClient,
    watched: AddressSet,
    recognize: (genesisHash: string) => UtxoParameters,
  ) {
    this.#client = client
    this.#watched = watched
    this.#recognize = recognize
  }

  /** Nothing but the genesis block says which chain a server serves. */
  async parameters(): Promise<UtxoParameters> {
    this.#parameters = this.#recognize(await this.hashAt(0))
    return this.#parameters
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
    const block = await this.#provedHeader(hash)
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
    const block = provedBlock(hash, bytes, this.#watched)
    await this.#proveWork(hash, bytes.subarray(0, HEADER_BYTES))
    return block
  }

  readBlocks(hashes: readonly string[]): Promise<ReadBlock[]> {
    return concurrently(hashes, BLOCKS_IN_FLIGHT, (hash) => this.readBlock(hash))
  }

  /** The hash at this height where its header has its proof of work; null where the server's chain ends below. */
  async provedHashAt(height: number): Promise<string | null> {
    const hash = await this.hashAtOrNull(height)
    if (hash !== null) await this.#bitsOf(hash)
    return hash
  }

  async requireDifficulty({ ancestor, blocks }: Pick<ChainUpdate, 'ancestor' | 'blocks'>): Promise<void> {
    const { work } = await this.#rules()
    if (work.allowsEasyBlocks) return
    let below = ancestor.hash
    for (const { block } of blocks) {
      const change = {
        height: block.height,
        from: await this.#bitsOf(below),
        to: await this.#bitsOf(block.hash),
      }
      if (!isPermittedChange(work, change))
        throw this.#client.untrue(
          `block ${block.hash}, whose difficulty cannot follow that of the block below`,
        )
      below = block.hash
    }
  }

  async #bitsOf(hash: string): Promise<number> {
    const known = this.#bits.get(hash)
    if (known !== undefined) return known
    const block = await this.#provedHeader(hash)
    if (block === null)
      throw new ChainUnavailable(`the Esplora server named block ${hash} and does not know it`)
    return block.bits
  }

  /** What the server reports about a block, proved by its hash, but for the height; null where it has none. */
  async #provedHeader(hash: string): Promise<EsploraBlock | null> {
    const block = await this.#client.json(`/block/${hash}`, esploraBlockSchema)
    if (block !== null) await this.#proveWork(hash, headerOf(block))
    return block
  }

  async #proveWork(hash: string, header: Buffer): Promise<void> {
    if (toDisplayHex(sha256d(header)) !== hash)
      throw this.#client.untrue(`block ${hash} with a header that is not the block's`)
    if (this.#bits.has(hash)) return
    const { chain, work } = await this.#rules()
    const bits = header.readUInt32LE(BITS_AT)
    const fault = workFault({ bits, hash: miningHash(chain, header) }, work)
    if (fault !== null) throw this.#client.untrue(`block ${hash}, whose header ${fault}`)
    this.#bits.set(hash, bits)
  }

  async #rules(): Promise<UtxoParameters> {
    return this.#parameters ?? this.parameters()
  }

  /** The API does not say: we wait for a chain longer than ours. */
  wasDeclaredInvalid(): Promise<boolean> {
    return Promise.resolve(false)
  }
}

/** The 80 bytes of a header, from its fields. */
function headerOf({ version, previousblockhash, merkle_root, timestamp, bits, nonce }: EsploraBlock): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeUInt32LE(version >>> 0, 0)
  Buffer.from(previousblockhash ?? '', 'hex')
    .reverse()
    .copy(header, 4)
  Buffer.from(merkle_root, 'hex').reverse().copy(header, 36)
  header.writeUInt32LE(timestamp, 68)
  header.writeUInt32LE(bits, BITS_AT)
  header.writeUInt32LE(nonce, 76)
  return header
}
