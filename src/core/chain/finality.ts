import type { BlockPosition } from '../invoice/types.ts'
import { FactsByInvoice, type InvoiceFacts, identityOfPayment, type TrackedTransfer } from './reconcile.ts'

/**
 * Where two providers must agree before value is final: the same facts, with none of them deep enough to make a
 * payment final. Everything else is told as it is seen.
 */
export function withoutFinality(invoices: readonly InvoiceFacts[]): InvoiceFacts[] {
  return invoices.map((invoice) => ({
    ...invoice,
    facts: invoice.facts.map((fact) => (fact.state === 'block' ? { ...fact, confirmations: 0 } : fact)),
  }))
}

export type DueTransfer = TrackedTransfer & { readonly block: BlockPosition; readonly confirmations: number }

/** Transfers that have their confirmations at this tip and are not final yet. */
export function dueAt(tipHeight: number, tracked: readonly TrackedTransfer[]): DueTransfer[] {
  return tracked.flatMap((transfer) => {
    const { status, block, confirmationsRequired } = transfer.payment
    if (status !== 'confirming' || block === null || block.height > tipHeight) return []
    const confirmations = tipHeight - block.height + 1
    return confirmations >= confirmationsRequired ? [{ ...transfer, block, confirmations }] : []
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
    const { block, confirmations, payment } = transfer
    if (!agreed.has(block.hash)) continue
    facts.add(transfer, { ...identityOfPayment(payment), state: 'block', block, confirmations })
  }
  return facts.list()
}
