import { type BlockTag, type BlockTags, blockTagAt, countOf, isFinal } from '../finality.ts'
import type { BlockRef } from '../invoice/types.ts'
import { FactsByInvoice, type InvoiceFacts, identityOfPayment, type TrackedTransfer } from './reconcile.ts'

/**
 * Where two providers must agree before value is final: the same facts, with none of them deep enough to make a
 * payment final. Everything else is reported as it is seen.
 */
export function withoutFinality(invoices: readonly InvoiceFacts[]): InvoiceFacts[] {
  return invoices.map((invoice) => ({
    ...invoice,
    facts: invoice.facts.map((fact) => {
      if (fact.state !== 'block') return fact
      const { tag: _tag, ...shallow } = fact
      return { ...shallow, confirmations: 0 }
    }),
  }))
}

export type DueTransfer = TrackedTransfer & {
  readonly block: BlockRef
  readonly confirmations: number
  readonly tag: BlockTag | null
}

/**
 * Transfers that have what makes them final at this tip and are not final yet. `blockTags` were read while this was the
 * tip; null on chains without any.
 */
export function dueAt(
  tipHeight: number,
  blockTags: BlockTags | null,
  tracked: readonly TrackedTransfer[],
): DueTransfer[] {
  return tracked.flatMap((transfer) => {
    const { status, block, finality } = transfer.payment
    if (status !== 'confirming' || block === null || block.height > tipHeight) return []
    const confirmations = tipHeight - block.height + 1
    const tag = blockTagAt(block.height, blockTags)
    const isDue = isFinal(finality, tag === null ? { confirmations } : { confirmations, tag })
    return isDue ? [{ ...transfer, block, confirmations, tag }] : []
  })
}

/** A block that another provider must have too, on a chain that reaches at least so high. */
type BuriedBlock = BlockRef & { readonly reached: number }

/**
 * The blocks of these transfers, each once, and how high a chain must reach to make all of them final: the depth is
 * for another provider to confirm as much as the block.
 */
export function blocksOf(due: readonly DueTransfer[]): BuriedBlock[] {
  const blocks = new Map<string, BuriedBlock>()
  for (const { block, payment } of due) {
    const deep = countOf(payment.finality) ?? 1
    const reached = Math.max(block.height + deep - 1, blocks.get(block.hash)?.reached ?? 0)
    blocks.set(block.hash, { ...block, reached })
  }
  return [...blocks.values()]
}

/** The facts that make final those of these transfers whose block is agreed on. */
export function finalFacts(due: readonly DueTransfer[], agreed: ReadonlySet<string>): InvoiceFacts[] {
  const facts = new FactsByInvoice()
  for (const transfer of due) {
    const { block, confirmations, tag, payment } = transfer
    if (!agreed.has(block.hash)) continue
    const depth = tag === null ? { confirmations } : { confirmations, tag }
    facts.add(transfer, { ...identityOfPayment(payment), state: 'block', block, ...depth })
  }
  return facts.list()
}
