import { REORG_DEPTH_MAX } from '../../core/chain/utxo-parameters.ts'
import type { BlockRef } from '../../core/invoice/types.ts'
import {
  ChainHalted,
  ChainSyncing,
  ChainUnavailable,
  type ChainUpdate,
  forkTooDeep,
  type ScannedBlock,
} from '../adapter.ts'
import { trailAfter } from '../trail.ts'
import { type BlockSource, knownHeader, placeBlock, readHeights, referenceOf } from './block-source.ts'
import type { HeaderAnswer } from './node-answers.ts'

/** A reorganisation is connected up to the new tip in one step, so that a payment which only moved never left. */
const REORG_BLOCKS_MAX = 2_000
/** A chain that grows while it is read is read again. */
const WALK_ATTEMPTS_MAX = 3

type Ancestor = BlockRef & { readonly isAssumed?: true }

/**
 * Walks the node's best chain from a checkpoint by block hashes. Every step is proved by the parent hashes in
 * the headers themselves; heights are only a way to ask.
 */
export class ChainWalk {
  readonly #node: BlockSource
  readonly #asset: 'BTC' | 'LTC'
  /** The last step did not reach the tip. */
  #catchingUp = false
  /** The newest blocks of the chain as we walked it, for a source that forgets what was reorganised away. */
  #trail: readonly BlockRef[] = []

  constructor(node: BlockSource, asset: 'BTC' | 'LTC') {
    this.#node = node
    this.#asset = asset
  }

  /** See `ChainAdapter.nextUpdate`. At the tip it takes one call, and two for each block. */
  async next(checkpoint: BlockRef, maxBlocks: number): Promise<ChainUpdate | null> {
    for (let attempt = 1; attempt <= WALK_ATTEMPTS_MAX; attempt++) {
      const bestHash = await this.#node.bestHash()
      if (bestHash === checkpoint.hash) return null
      const step =
        (await this.#oneBlock(checkpoint, bestHash)) ?? (await this.#walk(checkpoint, bestHash, maxBlocks))
      if (step === null) continue
      await this.#node.requireDifficulty?.(step)
      this.#remember(step)
      this.#catchingUp = (step.blocks.at(-1)?.block.height ?? step.ancestor.height) < step.tip.height
      return step
    }
    throw new ChainUnavailable('the node gives blocks that do not follow one another')
  }

  #remember({ ancestor, blocks }: ChainUpdate): void {
    const read = blocks.map(({ block }) => block)
    this.#trail = trailAfter(this.#trail, ancestor, read, REORG_DEPTH_MAX + 1)
  }

  /** The common case: one block has come on top of ours. Its header says so, and its height follows. */
  async #oneBlock(checkpoint: BlockRef, bestHash: string): Promise<ChainUpdate | null> {
    if (this.#catchingUp) return null
    const read = await this.#node.readBlock(bestHash)
    if (read.parentHash !== checkpoint.hash) return null
    const block = placeBlock(read, checkpoint.height + 1, this.#asset)
    return { ancestor: checkpoint, blocks: [block], tip: block.block }
  }

  /** Null where the chain moved while it was read. */
  async #walk(checkpoint: BlockRef, bestHash: string, maxBlocks: number): Promise<ChainUpdate | null> {
    const [tip, ours] = await Promise.all([
      knownHeader(this.#node, bestHash),
      this.#node.header(checkpoint.hash),
    ])
    const { isAssumed, ...ancestor } = await this.#commonAncestor(checkpoint, ours, tip)
    const limit = ancestor.hash === checkpoint.hash ? maxBlocks : Math.max(maxBlocks, REORG_BLOCKS_MAX)
    const count = Math.min(tip.height - ancestor.height, limit)
    if (count < 0) return null
    const blocks = await readHeights(this.#node, { first: ancestor.height + 1, count, asset: this.#asset })
    if (!isChain(ancestor, blocks)) return null
    const update = { ancestor, blocks, tip: referenceOf(tip) }
    return isAssumed ? { ...update, isAncestorAssumed: true } : update
  }

  /** The highest block that our chain and the node's best one share. */
  async #commonAncestor(
    checkpoint: BlockRef,
    ours: HeaderAnswer | null,
    tip: HeaderAnswer,
  ): Promise<Ancestor> {
    if (ours === null) return this.#ancestorOfUnknown(checkpoint, tip)
    if (ours.hash !== checkpoint.hash || ours.height !== checkpoint.height) {
      throw new ChainHalted(`the node gives block ${checkpoint.hash} another height than it had`)
    }
    if (ours.confirmations >= 1) return checkpoint
    await this.#requireBetterChain(ours, tip)
    let block = ours
    for (let depth = 1; depth <= REORG_DEPTH_MAX; depth++) {
      if (block.previousblockhash === undefined) throw new ChainHalted('the node has another genesis block')
      block = await this.#headerAt(block.height - 1, block.previousblockhash)
      if (block.confirmations >= 1) return referenceOf(block)
    }
    throw forkTooDeep(checkpoint, REORG_DEPTH_MAX)
  }

  /**
   * The node knows our block and does not stand on it. That is a reorganisation only where its own chain has
   * more work, or where it found ours invalid; else it is on its way to where it was before.
   */
  async #requireBetterChain(ours: HeaderAnswer, tip: HeaderAnswer): Promise<void> {
    if (ours.chainwork !== undefined && tip.chainwork !== undefined) {
      if (tip.chainwork.padStart(64, '0') > ours.chainwork.padStart(64, '0')) return
    } else if (tip.height > ours.height) return
    if (await this.#node.wasDeclaredInvalid(referenceOf(ours))) return
    throw new ChainSyncing(
      `the node stands at block ${tip.height} and has not yet come back to block ${ours.height}, which was read before`,
    )
  }

  /**
   * The node does not have our block: it is behind, or another node on another fork, or forgets such blocks.
   * Where it is higher than we are, we go back along the way we came, or, where that is not remembered, as far as
   * any reorganisation went; what both chains share is found again in the same blocks and nothing changes for it.
   */
  async #ancestorOfUnknown(checkpoint: BlockRef, tip: HeaderAnswer): Promise<Ancestor> {
    if (tip.height <= checkpoint.height) {
      throw new ChainSyncing(
        `the node stands at block ${tip.height} and does not know block ${checkpoint.height}, which was read before: it is syncing, or is another node whose chain is not longer`,
      )
    }
    const height = Math.max(0, checkpoint.height - REORG_DEPTH_MAX)
    if (this.#trail.at(-1)?.hash === checkpoint.hash) {
      for (const block of this.#trail.slice(0, -1).reverse()) {
        if ((await this.#node.hashAt(block.height)) === block.hash) return block
      }
      if ((this.#trail[0]?.height ?? checkpoint.height) <= height)
        throw forkTooDeep(checkpoint, REORG_DEPTH_MAX)
    }
    const shared = referenceOf(await this.#headerAt(height, await this.#node.hashAt(height)))
    return { ...shared, isAssumed: true }
  }

  /** The difficulty that a block may have depends on its height: the node's word does not move it. */
  async #headerAt(height: number, hash: string): Promise<HeaderAnswer> {
    const header = await knownHeader(this.#node, hash)
    if (header.height === height) return header
    throw new ChainHalted(
      `the node gives block ${hash} the height ${header.height}, and it stands at ${height}`,
    )
  }
}

function isChain(ancestor: BlockRef, blocks: readonly ScannedBlock[]): boolean {
  let below = ancestor.hash
  for (const { block, parentHash } of blocks) {
    if (parentHash !== below) return false
    below = block.hash
  }
  return true
}
