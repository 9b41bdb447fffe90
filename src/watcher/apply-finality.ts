import { blocksOf, type DueTransfer, dueAt, finalFacts } from '../core/chain/due-transfers.ts'
import { keyOfTracked } from '../core/chain/reconcile.ts'
import type { BlockTags } from '../core/finality.ts'
import type { BlockRef } from '../core/invoice/types.ts'
import { loadDueTransfers } from '../db/invoices/transfers.ts'
import { type CreditCheckParts, checkCredits } from './check-credits.ts'
import { recordFacts } from './record-facts.ts'
import { isFinalityDeferred } from './record-reading.ts'
import { readTokensAgain, type TokenReadingParts } from './second-token-reading.ts'

export type FinalityParts = CreditCheckParts &
  TokenReadingParts & {
    /** Called with the reason why payments wait for a second look at their block; null once none does. */
    readonly onWaiting: (reason: string | null) => void
  }

type FinalityApplied = {
  /** Null where there are none. */
  readonly blockTags: BlockTags | null
  /** Whether to continue at once: a round does only part of the work, so that the head does not wait. */
  readonly hasMore: boolean
}

/**
 * Makes final what has its confirmations, or its block tag, at the checkpoint, is in blocks that a second provider has too,
 * and was read twice where one reading proves little; the rest waits. Where one provider decides alone on a counted
 * chain nothing is left to do: its blocks' own facts did it.
 */
export async function applyFinality(parts: FinalityParts, checkpoint: BlockRef): Promise<FinalityApplied> {
  const { adapter, agreement, pool } = parts
  if (!isFinalityDeferred(parts)) return { blockTags: null, hasMore: false }
  const blockTags = (await adapter.readBlockTags?.(checkpoint)) ?? null
  // The chain moved, or no provider confirms our place on it: nothing can be judged in this round.
  if (blockTags === null && adapter.readBlockTags !== undefined) return { blockTags, hasMore: false }
  const { height } = checkpoint
  const waiting = dueAt(height, blockTags, await loadDueTransfers(pool, adapter.network, height, blockTags))
  const readTwice = await readTokensAgain(parts, checkpoint, highest(waiting, blockTags))
  const checked = await checkCredits(parts, height)
  const reasons = [parts.tokenReading.waiting ?? [], checked.waiting ?? []].flat()
  parts.onWaiting(reasons.length === 0 ? null : reasons.join('; '))
  // What was recorded since then, by a second reading or by a rescan beside us, was not looked at in this round.
  const mayBeFinal = waiting.filter((transfer) => {
    const { payment, block } = transfer
    if (checked.unchecked.has(keyOfTracked(transfer))) return false
    return adapter.tokens?.assets.includes(payment.asset) !== true || block.height <= readTwice.through
  })
  const blocks = blocksOf(mayBeFinal)
  const agreed =
    agreement === null ? new Set(blocks.map(({ hash }) => hash)) : await agreement.agreedBlocks(blocks)
  await recordFacts(parts, finalFacts(mayBeFinal, agreed), height)
  return { blockTags, hasMore: readTwice.hasMore || checked.hasMore }
}

/** What is safe is read a second time, and what is due before that by a rule that counts blocks. */
function highest(due: readonly DueTransfer[], blockTags: BlockTags | null): number {
  return due.reduce((max, { block }) => Math.max(max, block.height), blockTags?.safe ?? 0)
}
