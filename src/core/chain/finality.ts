import { type ConsensusMark, isFinal, type MarkHeights, markAt } from '../finality.ts'
import type { BlockPosition } from '../invoice/types.ts'
import { FactsByInvoice, type InvoiceFacts, identityOfPayment, type TrackedTransfer } from './reconcile.ts'

/**
 * Where two providers must agree before value is final: the same facts, with none of them deep enough to make a
 * payment final. Everything else is told as it is seen.
 */
export function withoutFinality(invoices: readonly InvoiceFacts[]): InvoiceFacts[] {
  return invoices.map((invoice) => ({
    ...invoice,
    facts: invoice.facts.map((fact) => {
      if (fact.state !== 'block') return fact
      const { mark: _mark, ...shallow } = fact
      return { ...shallow, confirmations: 0 }
    }),
  }))
}

export type DueTransfer = TrackedTransfer & {
  readonly block: BlockPosition
  readonly confirmations: number
  readonly mark: ConsensusMark | null
}

/**
 * Transfers that have what makes them final at this tip and are not final yet. `marks` were read while this was the
 * tip; null on chains without any.
 */
export function dueAt(
  tipHeight: number,
  marks: MarkHeights | null,
  tracked: readonly TrackedTransfer[],
): DueTransfer[] {
  return tracked.flatMap((transfer) => {
    const { status, block, finality } = transfer.payment
    if (status !== 'confirming' || block === null || block.height > tipHeight) return []
    const confirmations = tipHeight - block.height + 1
    const mark = markAt(block.height, marks)
    const isDue = isFinal(finality, mark === null ? { confirmations } : { confirmations, mark })
    return isDue ? [{ ...transfer, block, confirmations, mark }] : []
  })
}

/** The blocks of these transfers, each once. */
export function blocksOf(due: readonly DueTransfer[]): BlockPosition[] {
  return [...new Map(due.map(({ block }) => [block.hash, block])).values()]
}

/** The facts that make final those of these transfers whose block is agreed on. */
export function settled(due: readonly DueTransfer[], agreed: ReadonlySet<string>): InvoiceFacts[] {
  const facts = new FactsByInvoice()
  for (const transfer of due) {
    const { block, confirmations, mark, payment } = transfer
    if (!agreed.has(block.hash)) continue
    const depth = mark === null ? { confirmations } : { confirmations, mark }
    facts.add(transfer, { ...identityOfPayment(payment), state: 'block', block, ...depth })
  }
  return facts.list()
}
