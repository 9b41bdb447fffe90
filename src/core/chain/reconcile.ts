import type { Network } from '../assets.ts'
import { countOf, isFinal } from '../finality.ts'
import type { BlockRef, Payment, TransferFact } from '../invoice/types.ts'
import type { InvoiceOwner, OwnedTransfer } from './owned-transfer.ts'
import { sumOutputs } from './sum-outputs.ts'
import { keyOf } from './transfer-key.ts'

/**
 * What a reading of the chain means for the invoices. Pure, with no memory but the transfers in the database. Facts
 * are absolute (in this block, this deep; in the mempool; gone), so that a reading repeated after a crash yields the
 * same facts.
 */

/** A recorded transfer that is not final, or that lies above some height. */
export type TrackedTransfer = InvoiceOwner & { readonly payment: Payment }

export type OwnedBlock = { readonly block: BlockRef; readonly transfers: readonly OwnedTransfer[] }

/** The facts for one invoice, to be recorded in one transaction. */
export type InvoiceFacts = InvoiceOwner & { readonly facts: readonly TransferFact[] }

export type BlocksReading = {
  readonly network: Network
  /** What our chain and the node's share; all that we hold above it is disconnected. */
  readonly ancestor: { readonly height: number; readonly hash: string }
  /** Connected above the ancestor, in order. */
  readonly blocks: readonly OwnedBlock[]
  /** Whether the last of the blocks is the node's tip. */
  readonly reachesTip: boolean
  /**
   * What waits for a block, lies above the ancestor, or is not final and in these blocks; where finality is not deferred, also
   * what becomes final by the last of them.
   */
  readonly tracked: readonly TrackedTransfer[]
  /** Whether blocks by themselves make nothing final: see `withoutFinality`. */
  readonly isFinalityDeferred: boolean
  readonly readAtMs: number
}

/**
 * Transfers whose block is gone and that no connected block contains. The mempool, or else the node, must say what
 * became of them before anything is committed.
 */
export function disconnectedBy(reading: BlocksReading): TrackedTransfer[] {
  const { height } = reading.ancestor
  if (!reading.tracked.some(({ payment }) => payment.block !== null && payment.block.height > height))
    return []
  const included = new Set(reading.blocks.flatMap(({ transfers }) => transfers.map(keyOf)))
  const connected = new Set(reading.blocks.map(({ block }) => block.hash))
  const top = topOf(reading)
  return reading.tracked.filter((transfer) => {
    const { payment } = transfer
    if (payment.block === null || payment.block.height <= reading.ancestor.height) return false
    // Beyond what was read so far: decided when the walk comes there.
    if (payment.block.height > top && !reading.reachesTip) return false
    return !included.has(keyOfTracked(transfer)) && !(payment.isBlockSum && connected.has(payment.txid))
  })
}

/**
 * The facts after a step along the chain. Disconnected and connected blocks are judged together: a transfer that
 * moved to another block is simply in that block. `alive` holds the txids of `disconnectedBy` that still wait for a
 * block; null before the tip is reached, when that cannot be known: they then count as unconfirmed until the mempool
 * is read.
 */
export function reconcileBlocks(reading: BlocksReading, alive: ReadonlySet<string> | null): InvoiceFacts[] {
  const facts = new FactsByInvoice()
  const tipHeight = topOf(reading)
  const tracked = new Map(reading.tracked.map((transfer) => [keyOfTracked(transfer), transfer]))
  const reported = new Set<string>()
  for (const { block, transfers } of reading.blocks) {
    for (const transfer of sumOutputs(transfers, tracked)) {
      const key = keyOf(transfer)
      const known = tracked.get(key)
      reported.add(key)
      const firstSeenMs = Math.min(
        known?.payment.firstSeenMs ?? reading.readAtMs,
        block.timeMs,
        reading.readAtMs,
      )
      facts.add(transfer, {
        ...identityOf(reading.network, transfer),
        knownIn: known?.payment.block?.hash ?? null,
        firstSeenMs,
        state: 'block',
        block,
        confirmations: tipHeight - block.height + 1,
      })
    }
  }
  for (const gone of disconnectedBy(reading)) {
    reported.add(keyOfTracked(gone))
    const { isBlockSum, txid } = gone.payment
    const state = !isBlockSum && (alive === null || alive.has(txid)) ? 'mempool' : 'reorged'
    facts.add(gone, { ...identityOfPayment(gone.payment), state })
  }
  // A block above changes only the count, which is not stored: it matters where the count makes the payment final.
  for (const buried of reading.isFinalityDeferred ? [] : reading.tracked) {
    const { block, status, finality } = buried.payment
    if (status !== 'confirming' || block === null || reported.has(keyOfTracked(buried))) continue
    const confirmations = tipHeight - block.height + 1
    if (block.height > reading.ancestor.height || !isFinal(finality, { confirmations })) continue
    facts.add(buried, { ...identityOfPayment(buried.payment), state: 'block', block, confirmations })
  }
  return facts.list()
}

export type MempoolContents = {
  readonly network: Network
  /** The tip while the mempool was read; everything up to it was reported before. */
  readonly tipHeight: number
  readonly transfers: readonly (OwnedTransfer & { readonly firstSeenMs: number })[]
  /** What waits for a block, all above the tip, and what the database holds of those in the mempool. */
  readonly tracked: readonly TrackedTransfer[]
}

/** Transfers that wait for a block and that the mempool does not hold: the node must be asked about them. */
export function vanishedFrom(mempool: MempoolContents): TrackedTransfer[] {
  const present = new Set(mempool.transfers.map(keyOf))
  return mempool.tracked.filter(
    (transfer) =>
      isUnconfirmed(transfer.payment, mempool.tipHeight) &&
      !present.has(keyOfTracked(transfer)) &&
      !transfer.payment.isBlockSum,
  )
}

/**
 * The facts after the mempool was read at the chain's tip. Reports only what the database does not hold yet, so
 * that a mempool which stays the same says nothing. `dead` holds the ids of those `vanishedFrom` that cannot
 * confirm any more.
 */
export function reconcileMempool(mempool: MempoolContents, dead: ReadonlySet<string>): InvoiceFacts[] {
  const facts = new FactsByInvoice()
  const tracked = new Map(mempool.tracked.map((transfer) => [keyOfTracked(transfer), transfer]))
  for (const transfer of mempool.transfers) {
    const known = tracked.get(keyOf(transfer))
    // A transfer in a block that we read stays there, whatever the mempool claims.
    if (known !== undefined && isBuried(known.payment, mempool.tipHeight)) continue
    if (known?.payment.status === 'detected' && known.payment.firstSeenMs <= transfer.firstSeenMs) continue
    facts.add(transfer, {
      ...identityOf(mempool.network, transfer),
      knownIn: known?.payment.block?.hash ?? null,
      firstSeenMs: transfer.firstSeenMs,
      state: 'mempool',
    })
  }
  for (const gone of vanishedFrom(mempool)) {
    const hadBlock = gone.payment.block !== null
    if (dead.has(gone.payment.txid)) {
      facts.add(gone, { ...identityOfPayment(gone.payment), state: hadBlock ? 'reorged' : 'replaced' })
    } else if (hadBlock) {
      facts.add(gone, { ...identityOfPayment(gone.payment), state: 'mempool' })
    }
  }
  return facts.list()
}

/** The facts about transfers whose chain is no longer followed at all. */
export function abandoned(transfers: readonly TrackedTransfer[]): InvoiceFacts[] {
  const facts = new FactsByInvoice()
  for (const transfer of transfers) {
    facts.add(transfer, { ...identityOfPayment(transfer.payment), state: 'reorged' })
  }
  return facts.list()
}

/** Waits for a block: never had one, or had one that is above the chain as we know it. */
function isUnconfirmed(payment: Payment, tipHeight: number): boolean {
  if (payment.status === 'replaced' || payment.status === 'reorged') return false
  return !isBuried(payment, tipHeight)
}

function isBuried(payment: Payment, tipHeight: number): boolean {
  return payment.block !== null && payment.block.height <= tipHeight
}

/** Confirmations are counted to the highest block that we have read ourselves, not to what a node claims. */
function topOf(reading: BlocksReading): number {
  return reading.blocks.at(-1)?.block.height ?? reading.ancestor.height
}

export function keyOfTracked({ invoiceId, payment }: TrackedTransfer): string {
  return keyOf({ invoiceId, txid: payment.txid, outputIndex: payment.outputIndex })
}

/** The identifying fields of a transfer that was found, as facts carry them. */
export function identityOf(network: Network, transfer: OwnedTransfer) {
  const { txid, outputIndex, asset, amount, minimumConfirmations, parts } = transfer
  const identity = { network, txid, outputIndex, asset, amount, minimumConfirmations }
  return parts === undefined ? identity : { ...identity, parts }
}

/** The identifying fields of a recorded transfer, as facts carry them. */
export function identityOfPayment(payment: Payment) {
  const { network, txid, outputIndex, asset, amount, firstSeenMs, finality } = payment
  return {
    network,
    txid,
    outputIndex,
    asset,
    amount,
    firstSeenMs,
    minimumConfirmations: countOf(finality) ?? 1,
    knownIn: payment.block?.hash ?? null,
  }
}

/** Collects facts by invoice, in the order in which invoices are first met. */
export class FactsByInvoice {
  readonly #byInvoice = new Map<string, { owner: InvoiceOwner; facts: TransferFact[] }>()

  add({ tenant, invoiceId }: InvoiceOwner, fact: TransferFact): void {
    const key = `${tenant.merchantId}/${invoiceId}`
    const entry = this.#byInvoice.get(key) ?? { owner: { tenant, invoiceId }, facts: [] }
    entry.facts.push(fact)
    this.#byInvoice.set(key, entry)
  }

  list(): InvoiceFacts[] {
    return [...this.#byInvoice.values()].map(({ owner, facts }) => ({ ...owner, facts }))
  }
}
