import type { BlockRef } from '../../core/invoice/types.ts'
import type { FoundTransfer, ScannedBlock } from '../adapter.ts'
import type { Touch } from './account-histories.ts'
import type { SlotChain } from './slot-chain.ts'

/**
 * The blocks of transactions: all at or below the ancestor, and the lowest `maxBlocks` above it. What was paid before its
 * address was looked at lies below, and is reported first. The tip comes last where these are all.
 */
export async function touchedBlocks(
  chain: SlotChain,
  ends: { readonly ancestor: BlockRef; readonly tip: BlockRef },
  touches: readonly Touch[],
  maxBlocks: number,
): Promise<{ blocks: ScannedBlock[]; areAll: boolean }> {
  const { ancestor, tip } = ends
  const bySlot = new Map<number, Map<string, FoundTransfer>>()
  for (const touch of touches) {
    for (const transfer of touch.transfers) {
      const found = bySlot.get(touch.slot) ?? new Map()
      found.set(`${transfer.txid}:${transfer.outputIndex}`, transfer)
      bySlot.set(touch.slot, found)
    }
  }
  const slots = [...bySlot.keys()].sort((a, b) => a - b)
  const above = slots.filter((slot) => slot > ancestor.height)
  const taken = [...slots.filter((slot) => slot <= ancestor.height), ...above.slice(0, maxBlocks)]
  const blocks: ScannedBlock[] = []
  for (const slot of taken) {
    const { block, head } = slot === tip.height ? { block: tip, head: null } : await chain.reference(slot)
    const transfers = [...(bySlot.get(slot)?.values() ?? [])]
    blocks.push({ block, parentHash: head?.previousBlockhash ?? '', transfers })
  }
  const areAll = taken.length === slots.length
  if (areAll && blocks.at(-1)?.block.hash !== tip.hash)
    blocks.push({ block: tip, parentHash: '', transfers: [] })
  return { blocks, areAll }
}
