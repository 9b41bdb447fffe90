import { isDust, PAYMENTS_MAX } from '../invoice/block-sums.ts'
import type { OwnedTransfer } from './owned-transfer.ts'
import { keyOf } from './transfer-key.ts'

/** The keys (`keyOf`) of transfers that the database has as payments of their own. */
type Known = { has(key: string): boolean }

/**
 * Outputs of one transaction to one invoice, in one asset, are one payment under the first output's index. Dust stays
 * apart: summed it would be money, and as a coin it costs more than it is worth. What an earlier release recorded
 * output by output stays so.
 */
export function sumOutputs<Transfer extends OwnedTransfer>(
  transfers: readonly Transfer[],
  known: Known,
): Transfer[] {
  const groups = new Map<string, Transfer[]>()
  for (const transfer of transfers) {
    const { invoiceId, txid, asset, outputIndex } = transfer
    const key = isDust(transfer) ? `${invoiceId}:${txid}:${outputIndex}` : `${invoiceId}:${txid}:${asset}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [transfer])
    else group.push(transfer)
  }
  return [...groups.values()].flatMap((group) => {
    const [first, ...others] = group
    if (first === undefined || others.length === 0 || others.some((other) => known.has(keyOf(other))))
      return group
    return [
      {
        ...first,
        amount: group.reduce((sum, { amount }) => sum + amount, 0n),
        minimumConfirmations: group.reduce((most, each) => Math.max(most, each.minimumConfirmations), 1),
        parts: group.map(({ txid, outputIndex, amount }) => ({ txid, outputIndex, amount })),
      },
    ]
  })
}

/**
 * Of what a mempool holds, all that is known, and of the rest as many for each invoice, the largest, as can become
 * payments. What is left out is reported once a block holds it.
 */
export function worthReporting<Transfer extends OwnedTransfer>(
  transfers: readonly Transfer[],
  known: Known,
): Transfer[] {
  const unknownOf = new Map<string, Transfer[]>()
  for (const transfer of transfers) {
    if (known.has(keyOf(transfer)) || isDust(transfer)) continue
    const key = `${transfer.invoiceId}:${transfer.asset}`
    const unknown = unknownOf.get(key)
    if (unknown === undefined) unknownOf.set(key, [transfer])
    else unknown.push(transfer)
  }
  const chosen = new Set<Transfer>()
  for (const unknown of unknownOf.values()) {
    unknown.sort((a, b) => (a.amount === b.amount ? 0 : a.amount < b.amount ? 1 : -1))
    for (const transfer of unknown.slice(0, PAYMENTS_MAX)) chosen.add(transfer)
  }
  return transfers.filter((transfer) => chosen.has(transfer) || known.has(keyOf(transfer)))
}
