import type { BlockRef } from '../../core/invoice/types.ts'
import { ChainHalted, ChainSyncing, ChainUnavailable, type ChainUpdate, forkTooDeep } from '../adapter.ts'
import { trailAfter } from '../trail.ts'
import type { BlockHead } from './solana-answers.ts'
import { SOLANA_CODES, SolanaCallFailed, type SolanaRpc } from './solana-rpc.ts'

/** Blocks remembered of the chain as we read it: finality comes about 32 slots behind. */
const TRAIL_MAX = 1_000
/** A fork that is not remembered is looked for below this many slots, far more than ever lay between confirmed and finalized. */
const UNKNOWN_FORK_SLOTS = 512
/** What an update begins with. */
export type Ancestor = Pick<ChainUpdate, 'ancestor' | 'isAncestorAssumed'>

/** Slots in a row without a block that are looked across for the next one. */
const SKIPPED_SLOTS_MAX = 500
/** A node that is behind where we were by no more than this is one of several behind one address. */
const LAG_SLOTS_MAX = 150
const ATTEMPTS_MAX = 5
const RETRY_MS = 60

/** Our place on the chain, and the blocks on the way to it that prove where it leads. */
export class SlotChain {
  readonly #rpc: SolanaRpc
  #trail: readonly BlockRef[] = []

  constructor(rpc: SolanaRpc) {
    this.#rpc = rpc
  }

  /** Blocks that were read; those at or below what the others stand on were reported late, and lead nowhere new. */
  remember(ancestor: BlockRef, blocks: readonly BlockRef[]): void {
    const above = blocks.filter(({ height }) => height > ancestor.height)
    this.#trail = trailAfter(this.#trail, ancestor, above, TRAIL_MAX)
  }

  forget(): void {
    this.#trail = []
  }

  /** The block in a slot, which is known to have one; a node may need a moment to have it at hand. */
  async reference(slot: number): Promise<{ readonly block: BlockRef; readonly head: BlockHead }> {
    for (let attempt = 1; ; attempt++) {
      try {
        const head = await this.#rpc.blockHead(slot)
        if (head !== null) return { block: refOf(slot, head), head }
      } catch (error) {
        if (!isNotYet(error) || attempt >= ATTEMPTS_MAX) throw error
      }
      if (attempt >= ATTEMPTS_MAX)
        throw new ChainUnavailable(`the node has no block in slot ${slot}, which it named`)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }

  /**
   * Hash of a slot's block on the node's chain; null where the chain ends below, or the node does
   * not have its blocks there. Where the chain passes over the slot, which the parent of the next block proves, what is
   * given names that block and is no hash: it differs from every block that anybody else has there.
   */
  async hashAt(slot: number): Promise<string | null> {
    const tip = await this.#rpc.slot('confirmed')
    if (slot > tip) return null
    const [next] = await this.#rpc.blocks(slot, Math.min(tip, slot + SKIPPED_SLOTS_MAX))
    if (next === undefined || next < slot) return null
    const { block, head } = await this.reference(next)
    if (next === slot) return block.hash
    return head.parentSlot < slot
      ? `no block (${block.hash} in slot ${next} follows slot ${head.parentSlot})`
      : null
  }

  /**
   * Whether a tip can be continued from. False where the node is a little behind us on our own chain; throws where it
   * is far behind, which is no reorganisation.
   */
  async isAhead(tipSlot: number, checkpoint: BlockRef): Promise<boolean> {
    if (tipSlot > checkpoint.height) return true
    if (tipSlot === checkpoint.height) return false
    if (checkpoint.height - tipSlot <= LAG_SLOTS_MAX) return false
    throw new ChainSyncing(
      `the node stands at slot ${tipSlot} and has not yet come back to slot ${checkpoint.height}, which was read before`,
    )
  }

  /** Whether our checkpoint is on the node's chain, whose tip is above it. */
  async holds(checkpoint: BlockRef): Promise<boolean> {
    return (await this.hashAt(checkpoint.height)) === checkpoint.hash
  }

  /**
   * The highest block that our chain and the node's share, where the node's left ours; where that is not remembered, one
   * that is assumed. Throws `ChainHalted` where it lies deeper than what is remembered, which is deeper than is assumed.
   */
  async commonAncestor(checkpoint: BlockRef): Promise<Ancestor> {
    const first = await this.#rpc.firstAvailableBlock()
    if (first > checkpoint.height) {
      throw new ChainHalted(
        `the node has pruned its blocks below ${first}, and those from ${checkpoint.height + 1} on were not read yet: use a node that still has them`,
      )
    }
    const lowest = checkpoint.height - UNKNOWN_FORK_SLOTS
    const ours = this.#trail.filter(({ height }) => height <= checkpoint.height)
    if (ours.at(-1)?.hash === checkpoint.hash) {
      for (const block of [...ours].reverse()) {
        if ((await this.hashAt(block.height)) === block.hash) return { ancestor: block }
      }
      const oldest = ours[0]?.height ?? checkpoint.height
      if (oldest <= lowest && oldest >= first) throw forkTooDeep(checkpoint, UNKNOWN_FORK_SLOTS)
    }
    const from = Math.max(first, lowest)
    const [slot] = await this.#rpc.blocks(from, checkpoint.height)
    if (slot === undefined) throw new ChainUnavailable(`the node lists no block from slot ${from} on`)
    // Nothing says that our chain has it too.
    return { ancestor: (await this.reference(slot)).block, isAncestorAssumed: true }
  }
}

export function refOf(slot: number, head: BlockHead): BlockRef {
  if (head.blockTime === null) throw new ChainUnavailable(`the node does not know when slot ${slot} was`)
  return { height: slot, hash: head.blockhash, timeMs: head.blockTime * 1_000 }
}

const isNotYet = (error: unknown): boolean =>
  error instanceof SolanaCallFailed && error.code === SOLANA_CODES.blockNotAvailable
