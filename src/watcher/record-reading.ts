import {
  type ChainAdapter,
  ChainHalted,
  type ChainUpdate,
  type FoundTransfer,
  forkTooDeep,
  type MempoolReading,
} from '../chain/adapter.ts'
import { keyspaceOfNetwork } from '../core/assets.ts'
import { withoutFinality } from '../core/chain/due-transfers.ts'
import type { InvoiceOwner } from '../core/chain/owned-transfer.ts'
import {
  abandoned,
  type BlocksReading,
  disconnectedBy,
  keyOfTracked,
  reconcileBlocks,
  reconcileMempool,
  type TrackedTransfer,
  vanishedFrom,
} from '../core/chain/reconcile.ts'
import { sumOutputs, worthReporting } from '../core/chain/sum-outputs.ts'
import { keyOf } from '../core/chain/transfer-key.ts'
import type { BlockRef } from '../core/invoice/types.ts'
import { moveCheckpoint } from '../db/chain/network-state.ts'
import { findAddressOwners } from '../db/chain/watched-addresses.ts'
import {
  loadDueTransfers,
  loadRecordedBlock,
  loadTrackedTransfers,
  loadTransfersOf,
  loadUnsettledTransfers,
  type TransactionKey,
} from '../db/invoices/transfers.ts'
import { LeadershipLost, type RecordingParts, recordFacts, whileLeading } from './record-facts.ts'

/**
 * Commits one step along the chain: per invoice what it means for it, and the checkpoint last, so that a crash in
 * between repeats work and loses none. A reorganisation first moves the checkpoint down to the common ancestor:
 * everything committed after that lies above it, and is read again if we are interrupted. Returns the new checkpoint;
 * null if the chain moved on before it could be judged, with nothing committed.
 */
export async function recordUpdate(
  parts: RecordingParts,
  checkpoint: BlockRef,
  update: ChainUpdate,
): Promise<BlockRef | null> {
  const { adapter, pool } = parts
  const { network } = adapter
  if (update.isAncestorAssumed) await requireRecorded(parts, checkpoint, update.ancestor)
  const ownerOf = await findOwners(
    parts,
    update.blocks.flatMap((block) => block.transfers),
  )
  const last = update.blocks.at(-1)?.block ?? update.ancestor
  const blocks = update.blocks.map(({ block, transfers }) => ({
    block,
    transfers: owned(transfers, ownerOf),
  }))
  const found = blocks.flatMap(({ transfers }) => transfers.map(keyOfTransaction))
  const tracked = await loadTrackedTransfers(pool, network, update.ancestor.height, found)
  const isDeferred = isFinalityDeferred(parts)
  const due = isDeferred ? [] : await loadDueTransfers(pool, network, last.height, null)
  const reading: BlocksReading = {
    network,
    ancestor: update.ancestor,
    blocks,
    reachesTip: last.hash === update.tip.hash,
    tracked: [
      ...new Map([...tracked, ...due].map((transfer) => [keyOfTracked(transfer), transfer])).values(),
    ],
    isFinalityDeferred: isDeferred,
    readAtMs: parts.clock().getTime(),
  }
  const judged = await judgeDisconnected(adapter, reading, last)
  if (judged === 'moved') return null
  let from = checkpoint
  if (update.ancestor.hash !== checkpoint.hash) {
    await advanceCheckpoint(parts, checkpoint, update.ancestor)
    from = update.ancestor
  }
  const facts = reconcileBlocks(reading, judged)
  await recordFacts(parts, reading.isFinalityDeferred ? withoutFinality(facts) : facts, last.height)
  if (last.hash !== from.hash) await advanceCheckpoint(parts, from, last)
  return last
}

/**
 * Whatever is recorded stands above this ancestor, or on the node's best chain: that the node knows it is not enough, since
 * it may be what was left. Else throws `ChainHalted`. What the node has put away is no matter where all of it is final.
 */
async function requireRecorded(
  { adapter, pool }: RecordingParts,
  checkpoint: BlockRef,
  { height }: BlockRef,
): Promise<void> {
  const recorded = await loadRecordedBlock(pool, adapter.network, height)
  if (recorded === null) return
  const hash = await adapter.hashAt(recorded.height)
  if (hash === recorded.hash) return
  if (hash !== null || recorded.height >= ((await adapter.firstKept?.()) ?? 0))
    throw forkTooDeep(checkpoint, checkpoint.height - height)
  const unsettled = await loadUnsettledTransfers(pool, adapter.network)
  if (unsettled.every(({ payment }) => payment.block === null || payment.block.height > height)) return
  throw new ChainHalted(
    `the node left the chain below ${checkpoint.height}, and has pruned block ${recorded.height} with a payment that is not final: use a node that still has it`,
  )
}

/**
 * Whether facts from blocks make nothing final by themselves: `applyFinality` does, by another provider's agreement or the
 * chain's own block tags.
 */
export function isFinalityDeferred({ adapter, agreement }: RecordingParts): boolean {
  return agreement !== null || adapter.readBlockTags !== undefined
}

/** Commits what the mempool, read while `checkpoint` was the tip, means for the invoices. */
export async function recordMempool(parts: RecordingParts, mempool: MempoolReading): Promise<void> {
  const { adapter, pool } = parts
  const tipHeight = mempool.tip.height
  const tracked = await loadTrackedTransfers(pool, adapter.network, tipHeight, [])
  const ownerOf = await findOwners(parts, mempool.transfers)
  const known = new Set(tracked.map(keyOfTracked))
  const transfers = worthReporting(sumOutputs(owned(mempool.transfers, ownerOf), known), known)
  const contents = {
    network: adapter.network,
    tipHeight,
    transfers,
    tracked: await withRecords(parts, { tracked, known }, transfers),
  }
  const vanished = vanishedFrom(contents)
  const outcomes = vanished.length === 0 ? new Map() : await adapter.outcomesOf(txidsOf(vanished))
  if (outcomes === null) return
  const dead = new Set([...outcomes].flatMap(([txid, outcome]) => (outcome === 'dead' ? [txid] : [])))
  await recordFacts(parts, reconcileMempool(contents, dead), tipHeight)
}

/**
 * Gives up transfers that were not final on a chain the network has left: a test network that was pointed at another
 * chain.
 */
export async function abandonUnsettled(parts: RecordingParts): Promise<void> {
  const { network } = parts.adapter
  const unsettled = await loadUnsettledTransfers(parts.pool, network)
  await recordFacts(parts, abandoned(unsettled), 0)
}

/**
 * The txids of disconnected transactions that still wait for a block, judged at the tip: by the mempool, and for
 * those not in it by asking the node. Null if there are none or the tip is not reached yet.
 */
async function judgeDisconnected(
  adapter: ChainAdapter,
  reading: BlocksReading,
  last: BlockRef,
): Promise<ReadonlySet<string> | null | 'moved'> {
  const disconnected = disconnectedBy(reading)
  if (disconnected.length === 0 || !reading.reachesTip) return null
  const mempool = await adapter.readMempool()
  if (mempool === null || mempool.tip.hash !== last.hash) return 'moved'
  const waiting = new Set(mempool.transfers.map((transfer) => transfer.txid))
  const unknown = disconnected.filter(({ payment }) => !payment.isBlockSum && !waiting.has(payment.txid))
  const outcomes = await adapter.outcomesOf(txidsOf(unknown))
  if (outcomes === null) return 'moved'
  for (const [txid, outcome] of outcomes) if (outcome === 'alive') waiting.add(txid)
  return waiting
}

const keyOfTransaction = ({ tenant, txid }: InvoiceOwner & { readonly txid: string }): TransactionKey => ({
  merchantId: tenant.merchantId,
  txid,
})

const txidsOf = (transfers: readonly TrackedTransfer[]): string[] => [
  ...new Set(transfers.map(({ payment }) => payment.txid)),
]

type Owners = ReadonlyMap<string, InvoiceOwner>

export async function findOwners(
  parts: RecordingParts,
  transfers: readonly FoundTransfer[],
): Promise<Owners> {
  if (transfers.length === 0) return new Map()
  const addresses = [...new Set(transfers.map((transfer) => transfer.addressBytes))]
  // All assets of one network share one keyspace.
  const owners = await findAddressOwners(parts.pool, keyspaceOfNetwork(parts.adapter.network), addresses)
  return new Map(owners.map(({ addressBytes, tenant, invoiceId }) => [addressBytes, { tenant, invoiceId }]))
}

/** Drops transfers to addresses that no invoice has: nobody was ever given them. */
export function owned<Transfer extends FoundTransfer>(
  transfers: readonly Transfer[],
  ownerOf: Owners,
): (Transfer & InvoiceOwner)[] {
  return transfers.flatMap((transfer) => {
    const owner = ownerOf.get(transfer.addressBytes)
    return owner === undefined ? [] : [{ ...transfer, ...owner }]
  })
}

/** Adds the records of transactions that are in the mempool but not tracked: given up for dead, and now back. */
async function withRecords(
  parts: RecordingParts,
  { tracked, known }: { readonly tracked: readonly TrackedTransfer[]; readonly known: ReadonlySet<string> },
  transfers: readonly (FoundTransfer & InvoiceOwner)[],
): Promise<TrackedTransfer[]> {
  const unknown = transfers.filter((transfer) => !known.has(keyOf(transfer)))
  const records = await loadTransfersOf(parts.pool, parts.adapter.network, unknown.map(keyOfTransaction))
  const more = records.filter((record) => !known.has(keyOfTracked(record)))
  return [...tracked, ...more]
}

async function advanceCheckpoint(parts: RecordingParts, from: BlockRef, to: BlockRef): Promise<void> {
  const { adapter, clock } = parts
  const moved = await whileLeading(parts, (tx) => moveCheckpoint(tx, adapter.network, from, to, clock()))
  if (!moved) throw new LeadershipLost(`the checkpoint of ${adapter.network} is no longer at ${from.height}`)
}
