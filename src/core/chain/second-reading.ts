import type { Network, PaymentAsset } from '../assets.ts'
import type { InvoiceOwner } from './owned-transfer.ts'
import { FactsByInvoice, type InvoiceFacts, identityOf, type OwnedBlock } from './reconcile.ts'
import { keyOf } from './transfer-key.ts'

/** A credit that the database has in one of the same blocks; `amount` in base units. */
export type BookedCredit = InvoiceOwner & {
  readonly txid: string
  readonly outputIndex: number
  readonly asset: PaymentAsset
  readonly amount: bigint
  readonly blockHash: string
}

export type Comparison =
  /** Facts that the first reading missed; nothing where both agree. */
  | { readonly kind: 'agreed'; readonly missed: readonly InvoiceFacts[] }
  /** The database has credits that the second reading lacks, or has with another amount: the first of them, and all. */
  | { readonly kind: 'contradicted'; readonly first: Contradiction; readonly booked: readonly BookedCredit[] }

/** `found`: the amount by the second reading; null where it has none. */
type Contradiction = { readonly booked: BookedCredit; readonly found: bigint | null }

/**
 * Compares what blocks hold by a second reading with what the first one recorded. What the first left out is
 * money all the same; what it put in and the second does not find must never become final.
 */
export function compareReadings(reading: {
  readonly network: Network
  readonly blocks: readonly OwnedBlock[]
  readonly booked: readonly BookedCredit[]
  readonly readAtMs: number
}): Comparison {
  const { network, blocks, booked, readAtMs } = reading
  const facts = new FactsByInvoice()
  const contradictions: Contradiction[] = []
  const open = new Map(booked.map((credit) => [inBlock(credit.blockHash, credit), credit]))
  for (const { block, transfers } of blocks) {
    for (const transfer of transfers) {
      const name = inBlock(block.hash, transfer)
      const known = open.get(name)
      open.delete(name)
      if (known !== undefined && known.amount !== transfer.amount)
        contradictions.push({ booked: known, found: transfer.amount })
      if (known !== undefined) continue
      const firstSeenMs = Math.min(block.timeMs, readAtMs)
      // Reported without depth: it becomes final like any other, once this reading has passed its block.
      const place = { state: 'block', block, confirmations: 0 } as const
      facts.add(transfer, { ...identityOf(network, transfer), knownIn: null, firstSeenMs, ...place })
    }
  }
  for (const invented of open.values()) contradictions.push({ booked: invented, found: null })
  const [first] = contradictions
  return first === undefined
    ? { kind: 'agreed', missed: facts.list() }
    : { kind: 'contradicted', first, booked: contradictions.map(({ booked: credit }) => credit) }
}

/** Facts that take these credits back: a reading proves that they were never in their blocks. */
export function retractionFacts(
  network: Network,
  booked: readonly BookedCredit[],
  readAtMs: number,
): InvoiceFacts[] {
  const facts = new FactsByInvoice()
  for (const credit of booked) {
    const { txid, outputIndex, asset, amount, blockHash: knownIn } = credit
    const identity = { network, txid, outputIndex, asset, amount, minimumConfirmations: 1, knownIn }
    facts.add(credit, { ...identity, firstSeenMs: readAtMs, state: 'reorged' })
  }
  return facts.list()
}

function inBlock(
  blockHash: string,
  credit: { readonly invoiceId: string; readonly txid: string; readonly outputIndex: number },
): string {
  return `${blockHash}:${keyOf(credit)}`
}
