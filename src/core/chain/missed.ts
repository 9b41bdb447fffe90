import type { Network } from '../assets.ts'
import {
  FactsByInvoice,
  type InvoiceFacts,
  identityOf,
  keyOfTracked,
  type OwnedBlock,
  type TrackedTransfer,
} from './reconcile.ts'
import { type BookedCredit, inBlock } from './second-reading.ts'
import { sumOutputs } from './sum-outputs.ts'
import { keyOf } from './transfer-key.ts'

/** Blocks that were read a second time, below the checkpoint. */
type SecondReading = {
  readonly network: Network
  readonly blocks: readonly OwnedBlock[]
  /** What is recorded of the transactions in these blocks. */
  readonly records: readonly TrackedTransfer[]
  /** What the sums of these blocks hold. */
  readonly summed: readonly BookedCredit[]
  /** The checkpoint, from which confirmations are counted. */
  readonly tipHeight: number
  readonly readAtMs: number
}

/** Facts about what these blocks hold and the books do not have in that block: nothing where all was recorded. */
export function missedIn(reading: SecondReading): InvoiceFacts[] {
  const facts = new FactsByInvoice()
  const recorded = new Map(reading.records.map((record) => [keyOfTracked(record), record.payment]))
  const summed = new Set(reading.summed.map((credit) => inBlock(credit.blockHash, credit)))
  for (const { block, transfers } of reading.blocks) {
    const unsummed = transfers.filter((transfer) => !summed.has(inBlock(block.hash, transfer)))
    for (const transfer of sumOutputs(unsummed, recorded)) {
      const known = recorded.get(keyOf(transfer))
      if (known?.block?.hash === block.hash) continue
      facts.add(transfer, {
        ...identityOf(reading.network, transfer),
        knownIn: known?.block?.hash ?? null,
        firstSeenMs: Math.min(known?.firstSeenMs ?? reading.readAtMs, block.timeMs, reading.readAtMs),
        state: 'block',
        block,
        confirmations: reading.tipHeight - block.height + 1,
      })
    }
  }
  return facts.list()
}

/** Without those whose block has left the chain. */
export function stillIn(invoices: readonly InvoiceFacts[], gone: ReadonlySet<string>): InvoiceFacts[] {
  return invoices.flatMap((invoice) => {
    const facts = invoice.facts.filter((fact) => fact.state !== 'block' || !gone.has(fact.block.hash))
    return facts.length === 0 ? [] : [{ ...invoice, facts }]
  })
}

/** The same transfers, whose block has left the chain meanwhile: unconfirmed until the mempool is read. */
export function unconfirmedAgain(
  invoices: readonly InvoiceFacts[],
  gone: ReadonlySet<string>,
): InvoiceFacts[] {
  return invoices.flatMap((invoice) => {
    const facts = invoice.facts.flatMap((fact) => {
      if (fact.state !== 'block' || !gone.has(fact.block.hash)) return []
      const { block, confirmations: _confirmations, ...identity } = fact
      return [{ ...identity, knownIn: block.hash, state: 'mempool' as const }]
    })
    return facts.length === 0 ? [] : [{ ...invoice, facts }]
  })
}
