import { type BlockHistory, ChainHalted, ChainUnavailable, type ScannedBlock } from '../chain/adapter.ts'
import { keyspaceOfNetwork, type Network, type PaymentAsset } from '../core/assets.ts'
import { withoutFinality } from '../core/chain/due-transfers.ts'
import { missedIn, outOfTheirBlocks, stillIn, unconfirmedAgain } from '../core/chain/missed.ts'
import type { InvoiceOwner } from '../core/chain/owned-transfer.ts'
import type { InvoiceFacts, OwnedBlock, TrackedTransfer } from '../core/chain/reconcile.ts'
import type { BookedCredit } from '../core/chain/second-reading.ts'
import type { BlockRef } from '../core/invoice/types.ts'
import { listCreditsBetween, lowerSecondReading } from '../db/chain/second-reading.ts'
import { findAddressOwners } from '../db/chain/watched-addresses.ts'
import { loadTransfersOf } from '../db/invoices/transfers.ts'
import { recordTransfers } from '../flows/record-transfers.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'

/** Blocks that are read and recorded together. */
const BLOCKS_PER_BATCH = 50
/** Attempts at reading a chain that is reorganised during the reading. */
const READINGS_MAX = 5

type RescanOptions = {
  readonly pool: Pool
  readonly clock: Clock
  readonly network: Network
  /** Matched against every address of the network, and whatever else is looked for. */
  readonly blocks: BlockHistory
  /** First and last height. */
  readonly from: number
  readonly to: number
  /** The watcher's checkpoint, at or above `to`. */
  readonly checkpoint: { readonly height: number; readonly hash: string }
  /** Whether several providers must agree before value is final: the watcher sees to that. */
  readonly mustAgree: boolean
  /** Assets whose transfers are read a second time before they are final. */
  readonly readTwice: readonly PaymentAsset[]
  /** Addresses (hex) that belong to no invoice; payments to them are only reported. */
  readonly unknownAddresses: ReadonlyMap<string, number>
  /** Called after each commit. */
  readonly notifier: { invoiceChanged(invoiceId: string): void; deliveriesWaiting(): void }
  readonly onBatch: (progress: { readonly height: number; readonly recorded: number }) => void
}

type FoundUnknownAddress = {
  readonly index: number
  readonly txid: string
  readonly outputIndex: number
  readonly asset: PaymentAsset
  readonly amount: bigint
  readonly height: number
}

export type RescanReport = {
  readonly blocks: number
  /** Outputs that pay an invoice's address. */
  readonly transfers: number
  /** Of them, those that the books did not have in that block, and now do. */
  readonly recorded: number
  readonly unknownAddresses: readonly FoundUnknownAddress[]
}

/**
 * Reads blocks that the watcher has passed a second time, and records what it missed, on the same way as the
 * watcher does. Repeating it changes nothing, it never touches the checkpoint, and it may run beside the watcher:
 * what it recorded is looked at once more on the chain, since a reorganisation that the watcher judged meanwhile
 * did not know of it.
 */
export async function rescanBlocks(options: RescanOptions): Promise<RescanReport> {
  let report: RescanReport = { blocks: 0, transfers: 0, recorded: 0, unknownAddresses: [] }
  let below: string | null = null
  for (let from = options.from; from <= options.to; from += BLOCKS_PER_BATCH) {
    const to = Math.min(options.to, from + BLOCKS_PER_BATCH - 1)
    const blocks = await readLinked(options.blocks, { from, to, below })
    // A range of slots may hold no block.
    below = blocks.at(-1)?.block.hash ?? below
    const { transfers, recorded } = await recordBatch(options, blocks)
    report = {
      blocks: report.blocks + blocks.length,
      transfers: report.transfers + transfers,
      recorded: report.recorded + recorded,
      unknownAddresses: [...report.unknownAddresses, ...unknownIn(blocks, options.unknownAddresses)],
    }
    options.onBatch({ height: to, recorded: report.recorded })
  }
  return report
}

/** Blocks that stand on one another, and on the one read before them. */
async function readLinked(
  source: BlockHistory,
  range: { from: number; to: number; below: string | null },
): Promise<ScannedBlock[]> {
  for (let reading = 1; reading <= READINGS_MAX; reading++) {
    const blocks = await source.readFrom(range.from, range.to - range.from + 1)
    let below = range.below
    const isLinked = blocks.every(({ block, parentHash }) => {
      const stands = below === null || parentHash === below
      below = block.hash
      return stands
    })
    if (isLinked) return blocks
  }
  throw new ChainUnavailable(
    `the chain is being reorganised at block ${range.from}: run it again in a moment`,
  )
}

async function recordBatch(
  options: RescanOptions,
  blocks: readonly ScannedBlock[],
): Promise<{ transfers: number; recorded: number }> {
  const { pool, network, clock, checkpoint, mustAgree } = options
  const owned = await withOwners(options, blocks)
  const keys = owned.flatMap(({ transfers }) =>
    transfers.map(({ tenant, txid }) => ({ merchantId: tenant.merchantId, txid })),
  )
  const records = await loadTransfersOf(pool, network, keys)
  const heights = owned.map(({ block }) => block.height)
  const range = { from: Math.min(...heights) - 1, to: Math.max(...heights) }
  const booked = owned.length === 0 ? [] : await listCreditsBetween(pool, network, null, range)
  const reading = {
    network,
    blocks: owned,
    records,
    booked,
    tipHeight: checkpoint.height,
    readAtMs: clock().getTime(),
  }
  await record(options, await leftBehind(options, owned, booked))
  const missed = missedIn(reading)
  // Never reports a transfer as included in a block that has already left the chain, should we be interrupted in
  // between.
  const goneBefore = await goneOf(options.blocks, missed)
  const kept = stillIn(missed, goneBefore)
  await readAgainBelow(options, blocks, kept)
  await record(options, mustAgree ? withoutFinality(kept) : kept)
  const goneMeanwhile = await goneOf(options.blocks, kept)
  await record(options, unconfirmedAgain(missed, new Set([...goneBefore, ...goneMeanwhile])))
  const recorded = missed.reduce((sum, { facts }) => sum + facts.length, 0)
  return { transfers: keys.length, recorded }
}

/**
 * What a rescan that ended before its second look left in blocks that are not on the chain: unconfirmed until the mempool is
 * read. The watcher judged the reorganisation before it was recorded.
 */
async function leftBehind(
  { pool, network, blocks: source }: RescanOptions,
  blocks: readonly OwnedBlock[],
  booked: readonly BookedCredit[],
): Promise<InvoiceFacts[]> {
  const read = new Set(blocks.map(({ block }) => block.hash))
  const elsewhere = booked.filter(({ blockHash }) => !read.has(blockHash))
  if (elsewhere.length === 0) return []
  const keys = elsewhere.flatMap(({ tenant: { merchantId }, txid, blockHash }) => [
    { merchantId, txid },
    { merchantId, txid: blockHash },
  ])
  const hashes = new Set(elsewhere.map(({ blockHash }) => blockHash))
  const suspects = (await loadTransfersOf(pool, network, keys)).filter(
    ({ payment: { block } }) => block !== null && hashes.has(block.hash),
  )
  const gone: TrackedTransfer[] = []
  for (const suspect of suspects) {
    const { block } = suspect.payment
    if (block !== null && !(await source.isOnChain(block))) gone.push(suspect)
  }
  return outOfTheirBlocks(gone)
}

/** What is read twice and is new must be read the second time as well before it is final: the watcher does so. */
async function readAgainBelow(
  { pool, network, readTwice }: RescanOptions,
  blocks: readonly ScannedBlock[],
  missed: readonly InvoiceFacts[],
): Promise<void> {
  const hashes = new Set(
    missed.flatMap(({ facts }) =>
      facts.flatMap((fact) =>
        fact.state === 'block' && readTwice.includes(fact.asset) ? [fact.block.hash] : [],
      ),
    ),
  )
  const lowest = blocks.find(({ block }) => hashes.has(block.hash))
  if (lowest === undefined) return
  await lowerSecondReading(pool, network, { height: lowest.block.height - 1, hash: lowest.parentHash })
}

async function record(
  { pool, clock, checkpoint, notifier }: RescanOptions,
  invoices: readonly InvoiceFacts[],
): Promise<void> {
  for (const { tenant, invoiceId, facts } of invoices) {
    const outcome = await recordTransfers(
      { pool, clock },
      { tenant, invoiceId, facts, tipHeight: checkpoint.height },
    )
    if (outcome.changed) notifier.invoiceChanged(invoiceId)
    if (outcome.deliveries > 0) notifier.deliveriesWaiting()
  }
}

/** Of the blocks in these facts, the ones that have left the best chain. */
async function goneOf(source: BlockHistory, invoices: readonly InvoiceFacts[]): Promise<ReadonlySet<string>> {
  const outcome = new Map(
    invoices.flatMap(({ facts }) =>
      facts.flatMap((fact) => (fact.state === 'block' ? [[fact.block.hash, fact.block] as const] : [])),
    ),
  )
  const gone = new Set<string>()
  for (const [hash, block] of outcome) if (!(await source.isOnChain(block))) gone.add(hash)
  return gone
}

async function withOwners(
  { pool, network }: RescanOptions,
  blocks: readonly ScannedBlock[],
): Promise<OwnedBlock[]> {
  const addresses = [
    ...new Set(blocks.flatMap(({ transfers }) => transfers.map(({ addressBytes }) => addressBytes))),
  ]
  const rows = await findAddressOwners(pool, keyspaceOfNetwork(network), addresses)
  const ownerOf = new Map<string, InvoiceOwner>(rows.map((row) => [row.addressBytes, row]))
  return blocks.map(({ block, transfers }) => ({
    block,
    transfers: transfers.flatMap((transfer) => {
      const owner = ownerOf.get(transfer.addressBytes)
      return owner === undefined ? [] : [{ ...transfer, tenant: owner.tenant, invoiceId: owner.invoiceId }]
    }),
  }))
}

function unknownIn(
  blocks: readonly ScannedBlock[],
  unknownAddresses: ReadonlyMap<string, number>,
): FoundUnknownAddress[] {
  return blocks.flatMap(({ block, transfers }) =>
    transfers.flatMap(({ addressBytes, txid, outputIndex, asset, amount }) => {
      const index = unknownAddresses.get(addressBytes)
      return index === undefined ? [] : [{ index, txid, outputIndex, asset, amount, height: block.height }]
    }),
  )
}

/** Rejects a source that is not on the chain that the watcher read. */
export async function requireSameChain(
  source: Pick<BlockHistory, 'hashAt'>,
  checkpoint: Pick<BlockRef, 'height' | 'hash'>,
): Promise<void> {
  const theirs = await source.hashAt(checkpoint.height)
  if (theirs !== checkpoint.hash) {
    throw new ChainHalted(
      `the node has another block at height ${checkpoint.height} than the watcher read: wait until it agrees, or find out which one is right`,
    )
  }
}
