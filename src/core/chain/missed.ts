import type { Network } from '../assets.ts'
import type { Payment } from '../invoice/types.ts'
import type { OwnedTransfer } from './owned-transfer.ts'
import {
  FactsByInvoice,
  type InvoiceFacts,
  identityOf,
  identityOfPayment,
  keyOfTracked,
  type OwnedBlock,
  type TrackedTransfer,
} from './reconcile.ts'
import type { BookedCredit } from './second-reading.ts'
import { sumOutputs } from './sum-outputs.ts'
import { keyOf } from './transfer-key.ts'
import { unverifiedIn } from './verify-credits.ts'

/** Blocks that were read a second time, below the checkpoint. */
type SecondReading = {
  readonly network: Network
  readonly blocks: readonly OwnedBlock[]
  /** What is recorded of the transactions in these blocks. */
  readonly records: readonly TrackedTransfer[]
  /** What the books hold of these blocks. */
  readonly booked: readonly BookedCredit[]
  /** The checkpoint, from which confirmations are counted. */
  readonly tipHeight: number
  readonly readAtMs: number
}

/** Facts about what these blocks hold and the books do not have in that block: nothing where all was recorded. */
export function missedIn(reading: SecondReading): InvoiceFacts[] {
  const facts = new FactsByInvoice()
  const recorded = new Map(reading.records.map((record) => [keyOfTracked(record), record.payment]))
  for (const owned of reading.blocks) {
    const { block } = owned
    for (const transfer of sumOutputs(unbookedIn(owned, reading.booked), recorded)) {
      const known = recorded.get(keyOf(transfer))
      if (known?.block?.hash === block.hash && !isMore(transfer, known)) continue
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

/** Whether a block's own credit, which is not final, was read with less than it is. */
const isMore = ({ txid, amount }: OwnedTransfer, { block, status, isBlockSum, amount: booked }: Payment) =>
  txid === block?.hash && status !== 'confirmed' && !isBlockSum && amount > booked

/**
 * What a block holds beyond the books. A node without traces names what contracts paid by the block and not by their
 * transactions: whatever one reading so names, the other has under other names, and it is no second payment. Of it only
 * the difference of both sums is missing.
 */
function unbookedIn({ block, transfers }: OwnedBlock, booked: readonly BookedCredit[]): OwnedTransfer[] {
  const inBooks = booked.filter(({ blockHash }) => block.hash === blockHash)
  const known = new Map(inBooks.map((credit) => [keyOf(credit), credit.amount]))
  const bookedOf = (transfer: OwnedTransfer) => known.get(keyOf(transfer)) ?? 0n
  const missing = transfers.filter(
    (transfer) =>
      !known.has(keyOf(transfer)) || (block.hash === transfer.txid && transfer.amount > bookedOf(transfer)),
  )
  const named = [...transfers, ...inBooks].filter(({ txid }) => block.hash === txid)
  const isUnsure = new Set(named.map(invoiceAssetOf))
  // All of both: what has one name in both may have another amount under it.
  const beyond = new Set(unverifiedIn(transfers.map(asCredit), inBooks.map(asCredit)).map(keyOf))
  const rest = new Map<string, bigint>()
  const addTo = (invoiceAsset: string, amount: bigint) =>
    rest.set(invoiceAsset, (rest.get(invoiceAsset) ?? 0n) + amount)
  for (const transfer of transfers) addTo(invoiceAssetOf(transfer), transfer.amount)
  for (const credit of inBooks) addTo(invoiceAssetOf(credit), -credit.amount)
  return missing.flatMap((transfer) => {
    const invoiceAsset = invoiceAssetOf(transfer)
    if (!isUnsure.has(invoiceAsset)) return [transfer]
    const left = rest.get(invoiceAsset) ?? 0n
    if (left <= 0n || !beyond.has(keyOf(transfer))) return []
    const more = transfer.amount - bookedOf(transfer)
    const added = more < left ? more : left
    addTo(invoiceAsset, -added)
    return [{ ...transfer, amount: bookedOf(transfer) + added }]
  })
}

const invoiceAssetOf = ({ invoiceId, asset }: Pick<BookedCredit, 'invoiceId' | 'asset'>) =>
  `${invoiceId}:${asset}`

const asCredit = <Found extends Pick<BookedCredit, 'invoiceId' | 'asset'>>(found: Found) => ({
  ...found,
  addressBytes: invoiceAssetOf(found),
})

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

/** Recorded transfers whose block has left the chain: unconfirmed until the mempool is read; a block's sum goes with it. */
export function outOfTheirBlocks(gone: readonly TrackedTransfer[]): InvoiceFacts[] {
  const facts = new FactsByInvoice()
  for (const transfer of gone) {
    const state = transfer.payment.isBlockSum ? 'reorged' : 'mempool'
    facts.add(transfer, { ...identityOfPayment(transfer.payment), state })
  }
  return facts.list()
}
