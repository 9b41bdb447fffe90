import type { PaymentAsset } from '../../core/assets.ts'
import type { EvmToken } from '../../core/chain/evm-parameters.ts'
import type { BlockRef } from '../../core/invoice/types.ts'
import { ChainUnavailable, type TokenReader, type TokenReading } from '../adapter.ts'
import type { AddressSet } from '../address-set.ts'
import { concurrently } from '../concurrently.ts'
import type { BlockReader } from './block-reader.ts'
import type { EvmHeader, EvmLog } from './evm-answers.ts'
import { type EvmNode, referenceOf } from './evm-node.ts'
import { EvmRpcError } from './evm-rpc.ts'
import type { ReadHeaders } from './read-headers.ts'
import { creditsOfLogs, requireLogsOf } from './token-logs.ts'

const BLOCKS_IN_FLIGHT = 4

/** Reads token transfers a second time: by receipts that the header proves, or by one question for a range of blocks. */
export class EvmTokenReader implements TokenReader {
  readonly assets: readonly PaymentAsset[]
  readonly #node: EvmNode
  readonly #tokens: readonly EvmToken[]
  readonly #watched: AddressSet
  readonly #reader: BlockReader
  readonly #headers: ReadHeaders

  constructor(parts: {
    readonly node: EvmNode
    readonly tokens: readonly EvmToken[]
    readonly watched: AddressSet
    readonly reader: BlockReader
    readonly headers: ReadHeaders
  }) {
    this.assets = parts.tokens.map(({ asset }) => asset)
    this.#node = parts.node
    this.#tokens = parts.tokens
    this.#watched = parts.watched
    this.#reader = parts.reader
    this.#headers = parts.headers
  }

  async prove(from: BlockRef, toHeight: number): Promise<TokenReading | null> {
    const headers = await this.#headersAbove(from, toHeight)
    if (headers === null) return null
    const blocks = await concurrently(headers, BLOCKS_IN_FLIGHT, async (header) => ({
      block: referenceOf(header),
      parentHash: header.parentHash,
      transfers: await this.#reader.provenTokenCredits(header),
    }))
    const end = blocks.at(-1)?.block ?? from
    return { end, blocks: blocks.filter(({ transfers }) => transfers.length > 0) }
  }

  /** The last one is asked for in any case: what the walk remembers may be of a branch that is not ours any more. */
  async #headersAbove(from: BlockRef, toHeight: number): Promise<EvmHeader[] | null> {
    const known = this.#headers.above(from, toHeight - 1)
    const headers = await this.#headersFrom(from, toHeight, known)
    return headers === null && known.length > 0 ? this.#headersFrom(from, toHeight, []) : headers
  }

  /** Asks for those that follow the known ones; null where they do not stand on one another. */
  async #headersFrom(
    from: BlockRef,
    toHeight: number,
    known: readonly EvmHeader[],
  ): Promise<EvmHeader[] | null> {
    const first = from.height + 1 + known.length
    const heights = Array.from({ length: toHeight + 1 - first }, (_, index) => first + index)
    const reported = await concurrently(heights, BLOCKS_IN_FLIGHT, (height) => this.#node.headerAt(height))
    const headers = [...known, ...reported.flatMap((header) => header ?? [])]
    return headers.length === toHeight - from.height && follow(from, headers) ? headers : null
  }

  async read(from: BlockRef, toHeight: number): Promise<TokenReading | null> {
    // The end first: a node that does not have it would answer for the range with silence.
    const end = await this.#node.headerAt(toHeight)
    if (end === null) return null
    const contracts = this.#tokens.map(({ contract }) => contract)
    const byBlock = new Map<string, EvmLog[]>()
    for (const log of await this.#logsBetween(from.height + 1, toHeight, contracts)) {
      const hash = log.blockHash ?? ''
      requireLogsOf(hash, [log], contracts)
      byBlock.set(hash, [...(byBlock.get(hash) ?? []), log])
    }
    const found = [...byBlock].flatMap(([hash, logs]) => {
      const transfers = creditsOfLogs(logs, this.#tokens, this.#watched)
      return transfers.length === 0 ? [] : [{ hash, transfers }]
    })
    const blocks = await concurrently(found, BLOCKS_IN_FLIGHT, async ({ hash, transfers }) => {
      const header = await this.#node.headerOf(hash)
      if (header === null)
        throw new ChainUnavailable(`the node gives logs of block ${hash} and does not know it`)
      return { block: referenceOf(header), parentHash: header.parentHash, transfers }
    })
    const ascending = blocks.sort((a, b) => a.block.height - b.block.height)
    return { end: referenceOf(end), blocks: ascending }
  }

  async #logsBetween(from: number, to: number, contracts: readonly string[]): Promise<EvmLog[]> {
    if (contracts.length === 0 || from > to) return []
    try {
      return await this.#node.logsBetween(from, to, contracts)
    } catch (error) {
      if (!(error instanceof EvmRpcError) || error.kind !== 'range_too_large' || from === to) throw error
      const middle = from + ((to - from) >>> 1)
      const lower = await this.#logsBetween(from, middle, contracts)
      return [...lower, ...(await this.#logsBetween(middle + 1, to, contracts))]
    }
  }
}

function follow(from: BlockRef, headers: readonly EvmHeader[]): boolean {
  let below = from.hash
  return headers.every((header) => {
    const stands = header.parentHash === below
    below = header.hash
    return stands
  })
}
