import { setTimeout } from 'node:timers/promises'
import type { BlockRef } from '../../core/invoice/types.ts'
import {
  ChainHalted,
  ChainSyncing,
  ChainUnavailable,
  type ChainUpdate,
  type ScannedBlock,
} from '../adapter.ts'
import { concurrently } from '../concurrently.ts'
import { trailAfter } from '../trail.ts'
import type { EvmBlock, EvmHeader } from './evm-answers.ts'
import { type EvmNode, referenceOf } from './evm-node.ts'
import { ReadHeaders } from './read-headers.ts'

const HEADERS_IN_FLIGHT = 8
/** A chain that grows while it is read is read again; nodes behind one address may be some blocks apart. */
const WALK_ATTEMPTS_MAX = 8
const WALK_PAUSE_MS = 80

type Ancestor = Pick<ChainUpdate, 'ancestor' | 'isAncestorAssumed'>

type WalkReader = {
  /** Whether so many blocks are to be asked for with their transactions in full. */
  readsWhole(count: number): boolean
  /** Whether they are read without, after this failure. */
  leavesWhole(error: unknown): boolean
  read(headers: readonly EvmHeader[]): Promise<ScannedBlock[]>
}

/**
 * Walks the node's best chain from a checkpoint. Every step is proved by the parent hashes in the headers; heights
 * are only a way to ask.
 */
export class EvmWalk {
  /** Those of the blocks that were read last. */
  readonly headers = new ReadHeaders()
  readonly #node: EvmNode
  readonly #reader: WalkReader
  readonly #depthMax: number
  /** The newest blocks of the chain as we walked it: a node forgets what was reorganised away. */
  #trail: readonly BlockRef[] = []
  /** The same before the last step, which may not have been taken. */
  #trailBefore: readonly BlockRef[] = []

  /** `depthMax`: blocks that a reorganisation may take back. */
  constructor(node: EvmNode, depthMax: number, reader: WalkReader) {
    this.#node = node
    this.#depthMax = depthMax
    this.#reader = reader
  }

  /** See `ChainAdapter.nextUpdate`. Costs one call at the tip; one new block costs that and its contents. */
  async next(checkpoint: BlockRef, maxBlocks: number): Promise<ChainUpdate | null> {
    if (this.#trailBefore.at(-1)?.hash === checkpoint.hash) this.#trail = this.#trailBefore
    for (let attempt = 1; attempt <= WALK_ATTEMPTS_MAX; attempt++) {
      if (attempt > 1) await setTimeout(WALK_PAUSE_MS)
      const tip = await this.tip()
      if (tip.hash === checkpoint.hash) return null
      if (tip.number < checkpoint.height) {
        if (attempt === WALK_ATTEMPTS_MAX) this.#lowerTip(checkpoint, tip)
        continue
      }
      const headers = await this.#headersAbove(checkpoint, tip, maxBlocks)
      if (headers === null) continue
      const blocks = await this.#reader.read(headers.above)
      this.headers.keep(headers.above)
      const { above: _above, ...from } = headers
      const step: ChainUpdate = { ...from, blocks, tip: referenceOf(tip) }
      const read = blocks.map(({ block }) => block)
      this.#trailBefore = this.#trail
      this.#trail = trailAfter(this.#trail, step.ancestor, read, this.#depthMax + 1)
      return step
    }
    throw new ChainUnavailable('the node gives blocks that do not follow one another')
  }

  /** See `ChainAdapter.rememberedAt`. */
  rememberedAt(checkpoint: BlockRef, height: number): string | null {
    if (this.#trail.at(-1)?.hash !== checkpoint.hash) return null
    return this.#trail[this.#trail.length - 1 - (checkpoint.height - height)]?.hash ?? null
  }

  async tip(): Promise<EvmHeader> {
    const tip = await this.#node.headerAt('latest')
    if (tip === null)
      throw new ChainUnavailable(`the node at ${this.#node.rpc.where} returns no latest block`)
    return tip
  }

  /** Null where the chain moved while it was read. */
  async #headersAbove(checkpoint: BlockRef, tip: EvmHeader, maxBlocks: number) {
    if (tip.parentHash === checkpoint.hash) {
      if (tip.number !== checkpoint.height + 1)
        throw new ChainHalted(`the node gives block ${tip.hash} a wrong height`)
      return { ancestor: checkpoint, above: [tip] }
    }
    const shared = await this.#commonAncestor(checkpoint)
    if (shared === null) return null
    const { ancestor } = shared
    // A reorganisation is connected up to the new tip in one step, so that a payment which only moved never left.
    const limit = ancestor.hash === checkpoint.hash ? maxBlocks : Math.max(maxBlocks, this.#depthMax * 2)
    const heights = Array.from(
      { length: Math.min(tip.number - ancestor.height, limit) },
      (_, index) => ancestor.height + 1 + index,
    )
    const above = await this.#headersAt(heights, tip)
    const headers = above.flatMap((header) => header ?? [])
    const end = headers.at(-1)
    if (end?.number === tip.number && end.hash !== tip.hash) return null
    return headers.length === heights.length && isChain(ancestor, headers)
      ? { ...shared, above: headers }
      : null
  }

  /** With their transactions in full where that is quicker, and the node gives them. */
  async #headersAt(heights: readonly number[], tip: EvmHeader): Promise<(EvmHeader | EvmBlock | null)[]> {
    if (this.#reader.readsWhole(heights.length)) {
      try {
        return await concurrently(heights, HEADERS_IN_FLIGHT, (height) => this.#node.blockAt(height))
      } catch (error) {
        if (!this.#reader.leavesWhole(error)) throw error
      }
    }
    return concurrently(heights, HEADERS_IN_FLIGHT, async (height) =>
      height === tip.number ? tip : this.#node.headerAt(height),
    )
  }

  /** The highest block that our chain and the node's best one share; null where the chain moves. */
  async #commonAncestor(checkpoint: BlockRef): Promise<Ancestor | null> {
    const theirs = await this.#node.headerAt(checkpoint.height)
    if (theirs === null) return null
    if (theirs.hash === checkpoint.hash) return { ancestor: checkpoint }
    const lowest = Math.max(0, checkpoint.height - this.#depthMax)
    const isRemembered = this.#trail.at(-1)?.hash === checkpoint.hash
    const shared = isRemembered ? await this.#highestShared(this.#trail.slice(0, -1)) : undefined
    if (shared !== undefined && shared.height >= lowest) return { ancestor: shared }
    return isRemembered && (this.#trail[0]?.height ?? 0) <= lowest
      ? this.#tooDeep(checkpoint)
      : this.#ancestorBySideChain(checkpoint, lowest)
  }

  /** The highest of these blocks, which follow one another, on the node's best chain: all below it are there as well. */
  async #highestShared(blocks: readonly BlockRef[]): Promise<BlockRef | undefined> {
    let [below, from] = [-1, blocks.length]
    while (from - below > 1) {
      const middle = (below + from) >>> 1
      const block = blocks[middle]
      if (block === undefined) break
      if ((await this.#node.headerAt(block.height))?.hash === block.hash) below = middle
      else from = middle
    }
    return blocks[below]
  }

  /** We do not remember how we came to our block: the node may still hold its parents, beside its own chain. */
  async #ancestorBySideChain(checkpoint: BlockRef, lowest: number): Promise<Ancestor> {
    let ours = await this.#node.headerOf(checkpoint.hash)
    while (ours !== null && ours.number > lowest) {
      const parent: EvmHeader | null = await this.#node.headerOf(ours.parentHash)
      if (parent === null) break
      if ((await this.#node.headerAt(parent.number))?.hash === parent.hash)
        return { ancestor: referenceOf(parent) }
      ours = parent
    }
    if (ours !== null && ours.number <= lowest) return this.#tooDeep(checkpoint)
    // As far back as any reorganisation went: what both chains share is found again in the same blocks. Nothing says that
    // they share this one.
    const shared = await this.#node.headerAt(lowest)
    if (shared === null) throw new ChainUnavailable(`the node does not have block ${lowest}`)
    return { ancestor: referenceOf(shared), isAncestorAssumed: true }
  }

  #tooDeep(checkpoint: BlockRef): never {
    throw new ChainHalted(
      `the node left the chain more than ${this.#depthMax} blocks below ${checkpoint.height}: find out which chain is right`,
    )
  }

  #lowerTip(checkpoint: BlockRef, tip: EvmHeader): never {
    throw new ChainSyncing(
      `the node stands at block ${tip.number} and has not yet come back to block ${checkpoint.height}, which was read before: it is syncing, or another one`,
    )
  }
}

function isChain(ancestor: BlockRef, headers: readonly EvmHeader[]): boolean {
  let below = ancestor
  for (const header of headers) {
    if (header.parentHash !== below.hash || header.number !== below.height + 1) return false
    below = referenceOf(header)
  }
  return true
}
