import type { BlockRef } from '../../core/invoice/types.ts'
import { ChainHalted, ChainUnavailable, type ChainUpdate, type ScannedBlock } from '../adapter.ts'
import { type Sought, transfersIn } from './find-transfers.ts'
import { type Ancestor, refOf, type SlotChain } from './slot-chain.ts'
import type { BlockWithAccounts } from './solana-answers.ts'
import { SOLANA_CODES, SolanaCallFailed, type SolanaRpc } from './solana-rpc.ts'

const BLOCKS_IN_FLIGHT = 4
/** A reorganisation is connected up to the new tip in one step, so that a payment which only moved never left. */
const REORG_BLOCKS_MAX = 2_000
/** Slots that are listed at once, and as far as the list may be stretched over slots without a block (agave's limit). */
const RANGE_SLOTS = 1_000
const RANGE_SLOTS_MAX = 400_000
const ATTEMPTS_MAX = 5
const RETRY_MS = 60

export type ReadParts = Sought & {
  readonly rpc: SolanaRpc
  readonly chain: SlotChain
}

/**
 * Reads every block above the checkpoint. Which slots have one, the node's list says and each block's parent proves:
 * a list that leaves one out does not fit the next block.
 */
export async function readBlocks(
  parts: ReadParts,
  checkpoint: BlockRef,
  tipSlot: number,
  maxBlocks: number,
): Promise<ChainUpdate> {
  const forward = await readFrom(parts, checkpoint, tipSlot, maxBlocks)
  if (forward !== null) return withTip(parts, { ancestor: checkpoint }, forward, tipSlot)
  const from = await parts.chain.commonAncestor(checkpoint)
  const branch = await readFrom(parts, from.ancestor, tipSlot, REORG_BLOCKS_MAX)
  if (branch === null) throw new ChainUnavailable('the node gives blocks that do not follow one another')
  return withTip(parts, from, branch, tipSlot)
}

/**
 * The blocks in a range of slots, reported once more: each stands on the one before, and the block above the range stands
 * on the last of them, so that a list which leaves one out is found out. Throws `ChainHalted` where the node no longer
 * has the range, since it would list nothing there.
 */
export async function readSlots(parts: ReadParts, first: number, count: number): Promise<ScannedBlock[]> {
  const { rpc } = parts
  const kept = await rpc.firstAvailableBlock()
  if (kept > first) {
    throw new ChainHalted(
      `the node has no blocks below slot ${kept}: read again with a node that has, or begin at --from ${kept}`,
    )
  }
  const tipSlot = await rpc.slot('confirmed')
  const end = first + count - 1
  const listed = await listSlots(rpc, first, tipSlot, end)
  const slots = listed.filter((slot) => slot <= end)
  const blocks: ScannedBlock[] = []
  let below: number | null = null
  for (let at = 0; at < slots.length; at += BLOCKS_IN_FLIGHT) {
    const batch = slots.slice(at, at + BLOCKS_IN_FLIGHT)
    const read = await Promise.all(batch.map((slot) => blockIn(rpc, slot)))
    for (const [index, block] of read.entries()) {
      const slot = batch[index] ?? 0
      requireBelow(block.parentSlot, below, first)
      blocks.push({
        block: refOf(slot, block),
        parentHash: block.previousBlockhash,
        transfers: transfersIn(block, parts),
      })
      below = slot
    }
  }
  const above = listed.find((slot) => slot > end)
  if (above !== undefined) requireBelow((await parts.chain.reference(above)).head.parentSlot, below, first)
  return blocks
}

/** Refuses a list that passed over the block on which another one stands. */
function requireBelow(parentSlot: number, below: number | null, first: number): void {
  if (below === null ? parentSlot < first : parentSlot === below) return
  throw new ChainUnavailable('the node gives blocks that do not follow one another')
}

async function withTip(
  { chain }: ReadParts,
  from: Ancestor,
  blocks: readonly ScannedBlock[],
  tipSlot: number,
): Promise<ChainUpdate> {
  const last = blocks.at(-1)?.block ?? from.ancestor
  const tip = last.height >= tipSlot ? last : (await chain.reference(tipSlot)).block
  return { ...from, blocks, tip }
}

/** The blocks above a block of ours; null where the node's chain does not stand on it. */
async function readFrom(
  parts: ReadParts,
  from: BlockRef,
  tipSlot: number,
  maxBlocks: number,
): Promise<ScannedBlock[] | null> {
  const slots = await listSlots(parts.rpc, from.height, tipSlot)
  if (slots[0] !== from.height) return null
  const wanted = slots.slice(1, maxBlocks + 1)
  const blocks: ScannedBlock[] = []
  let below = from
  for (let at = 0; at < wanted.length; at += BLOCKS_IN_FLIGHT) {
    const batch = wanted.slice(at, at + BLOCKS_IN_FLIGHT)
    const read = await Promise.all(batch.map((slot) => blockIn(parts.rpc, slot)))
    for (const [index, block] of read.entries()) {
      const stands = block.parentSlot === below.height && block.previousBlockhash === below.hash
      if (!stands && blocks.length === 0) return null
      if (!stands) throw new ChainUnavailable('the node gives blocks that do not follow one another')
      below = refOf(batch[index] ?? 0, block)
      const transfers = transfersIn(block, parts)
      blocks.push({ block: below, parentHash: block.previousBlockhash, transfers })
    }
  }
  return blocks
}

/** Slots with a block from `start` on; a range without one above `through` is widened, as far as the tip. */
async function listSlots(rpc: SolanaRpc, start: number, tipSlot: number, through = start): Promise<number[]> {
  for (let range = RANGE_SLOTS; ; range *= 10) {
    const end = Math.min(tipSlot, start + Math.min(range, RANGE_SLOTS_MAX))
    const slots = await rpc.blocks(start, end)
    if (slots.some((slot, index) => slot < start || slot > end || slot <= (slots[index - 1] ?? -1))) {
      throw new ChainUnavailable('the node lists blocks that were not asked for')
    }
    if ((slots.at(-1) ?? 0) > through || end === tipSlot || range >= RANGE_SLOTS_MAX) return slots
  }
}

/** A confirmed block may not be at hand yet where its slot is named already. */
async function blockIn(rpc: SolanaRpc, slot: number): Promise<BlockWithAccounts> {
  for (let attempt = 1; ; attempt++) {
    try {
      const block = await rpc.blockWithAccounts(slot)
      if (block !== null) return block
    } catch (error) {
      const isNotYet = error instanceof SolanaCallFailed && error.code === SOLANA_CODES.blockNotAvailable
      if (!isNotYet || attempt >= ATTEMPTS_MAX) throw error
    }
    if (attempt >= ATTEMPTS_MAX)
      throw new ChainUnavailable(`the node has no block in slot ${slot}, which it listed`)
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
  }
}
