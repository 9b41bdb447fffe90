import { blocksOf, type DueTransfer, dueAt, settled } from '../core/chain/finality.ts'
import { keyOfTracked, type TrackedTransfer } from '../core/chain/reconcile.ts'
import type { BlockTags } from '../core/finality.ts'
import type { BlockPosition } from '../core/invoice/types.ts'
import { loadTrackedTransfers } from '../db/invoices/transfers.ts'
import { checkCredits } from './check-credits.ts'
import { isSettledLater, type RecordingParts, recordFacts } from './record-reading.ts'
import { readAgain } from './second-reading.ts'

type Settled = {
  /** Null where there are none. */
  readonly blockTags: BlockTags | null
  /** Whether to go on at once: a round does only a part, so that the head does not wait. */
  readonly hasMore: boolean
}

/**
 * Makes final what has its confirmations, or its mark, at the checkpoint, is in blocks that a second provider has too,
 * and was read twice where one reading proves little; the rest waits. Where one provider decides alone on a counted
 * chain nothing is left to do: its blocks' own facts did it.
 */
export async function settle(parts: RecordingParts, checkpoint: BlockPosition): Promise<Settled> {
  const { adapter, agreement, pool } = parts
  if (!isSettledLater(parts)) return { blockTags: null, hasMore: false }
  const blockTags = (await adapter.readBlockTags?.(checkpoint)) ?? null
  // The chain moved, or no provider confirms our place on it: nothing can be judged in this round.
  if (blockTags === null && adapter.readBlockTags !== undefined) return { blockTags, hasMore: false }
  const { height } = checkpoint
  const dueOf = (tracked: readonly TrackedTransfer[]) => dueAt(height, blockTags, tracked)
  const waiting = dueOf(await loadTrackedTransfers(pool, adapter.network, height))
  const readTwice = await readAgain(parts, checkpoint, highest(waiting, blockTags))
  const checked = await checkCredits(parts, height)
  // The second reading may have recorded what the first one missed.
  const due = dueOf(await loadTrackedTransfers(pool, adapter.network, height))
  const mayBeFinal = due.filter((transfer) => {
    const { payment, block } = transfer
    if (checked.unchecked.has(keyOfTracked(transfer))) return false
    return adapter.tokens?.assets.includes(payment.asset) !== true || block.height <= readTwice.through
  })
  const blocks = blocksOf(mayBeFinal)
  const agreed =
    agreement === null ? new Set(blocks.map(({ hash }) => hash)) : await agreement.agreedBlocks(blocks)
  await recordFacts(parts, settled(mayBeFinal, agreed), height)
  return { blockTags, hasMore: readTwice.hasMore || checked.hasMore }
}

/** What is safe is read a second time, and what is due before that by a rule that counts blocks. */
function highest(due: readonly DueTransfer[], blockTags: BlockTags | null): number {
  return due.reduce((max, { block }) => Math.max(max, block.height), blockTags?.safe ?? 0)
}
