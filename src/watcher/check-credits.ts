import { ChainHalted, ChainUnavailable, type CreditCheck, type ScannedBlock } from '../chain/adapter.ts'
import { keyspaceOfNetwork } from '../core/assets.ts'
import { withoutFinality } from '../core/chain/due-transfers.ts'
import { missedIn } from '../core/chain/missed.ts'
import { retractionFacts } from '../core/chain/second-reading.ts'
import { keyOf } from '../core/chain/transfer-key.ts'
import { listUncheckedClaims, type RecordedClaim, saveChecked } from '../db/chain/checked-credits.ts'
import { listCreditsBetween } from '../db/chain/second-reading.ts'
import { loadTransfersOf } from '../db/invoices/transfers.ts'
import { nextPauseMs, ROUND_MS_MAX } from './finality-round.ts'
import { type RecordingParts, recordFacts } from './record-facts.ts'
import { findOwners, owned } from './record-reading.ts'

/** Blocks (hash) that could not be checked, with why and when they are tried again; the one tried longest ago first. */
type FailedChecks = Map<
  string,
  {
    readonly reason: string
    readonly pauseMs: number
    readonly retryAtMs: number
    /** How often it was read again, since payments in it were not found. */
    readonly readings: number
  }
>

export type CreditCheckParts = RecordingParts & {
  /** Kept from one round to the next. */
  readonly failedChecks: FailedChecks
}

/** Blocks in one round: what is new at the head waits no longer than for these. */
const BLOCKS_PER_ROUND = 20
/** Of them, those that failed before: they cost calls each time, and must not keep new ones waiting. */
const RETRIES_PER_ROUND = 5
/**
 * A block whose payments were taken back is read again so often, at longer and longer intervals: some five minutes. A
 * provider that contradicts itself for longer would have the same payment come and go for ever.
 */
const READINGS_AGAIN_MAX = 10

type CheckedCredits = {
  /** Keys (`keyOf`) of transfers that must not become final yet. */
  readonly unchecked: ReadonlySet<string>
  /** Why they wait; null where none does. */
  readonly waiting: string | null
  /** Whether there is more to look at, at once. */
  readonly hasMore: boolean
}

/**
 * Looks once more, by every provider, for credits that no block's hash proves. What is found is noted, once for each
 * block. What neither the followed provider nor another one finds was reported by a provider that is gone, and is taken
 * back. Halts where they contradict each other.
 */
export async function checkCredits(parts: CreditCheckParts, height: number): Promise<CheckedCredits> {
  const { adapter, pool } = parts
  if (adapter.credits === undefined) return { unchecked: new Set(), waiting: null, hasMore: false }
  const { network } = adapter
  const keyspace = keyspaceOfNetwork(network)
  const { assets } = adapter.credits
  const claims = await listUncheckedClaims(pool, { network, keyspace, assets, height })
  const byBlock = new Map<string, RecordedClaim[]>()
  for (const claim of claims) byBlock.set(claim.block.hash, [...(byBlock.get(claim.block.hash) ?? []), claim])
  const unchecked = new Set(claims.map(keyOf))
  let checkedBlocks = 0
  const beganAt = performance.now()
  for (const [hash, inBlock] of nextBlocks(byBlock, parts.failedChecks)) {
    if (performance.now() - beganAt > ROUND_MS_MAX) break
    const { pauseMs: lastPauseMs = 0, readings = 0 } = parts.failedChecks.get(hash) ?? {}
    const {
      reason,
      isReadAgain,
      changed = [],
    } = await checkBlock(parts, inBlock, height, readings < READINGS_AGAIN_MAX)
    parts.failedChecks.delete(hash)
    for (const key of changed) unchecked.add(key)
    if (reason !== null) {
      const pauseMs = nextPauseMs(lastPauseMs)
      const retryAtMs = performance.now() + pauseMs
      const failed = { reason, pauseMs, retryAtMs, readings: readings + Number(isReadAgain) }
      parts.failedChecks.set(hash, failed)
      continue
    }
    checkedBlocks += 1
    for (const claim of inBlock) unchecked.delete(keyOf(claim))
  }
  const waiting = waitingIn(byBlock, parts.failedChecks)
  return { unchecked, waiting, hasMore: checkedBlocks > 0 && byBlock.size > BLOCKS_PER_ROUND }
}

type ClaimsByBlock = ReadonlyMap<string, readonly RecordedClaim[]>

/** The blocks of one round: the lowest that were never tried, and then those that were tried longest ago. */
function nextBlocks(byBlock: ClaimsByBlock, failed: FailedChecks): [string, readonly RecordedClaim[]][] {
  for (const hash of failed.keys()) if (!byBlock.has(hash)) failed.delete(hash)
  const fresh = [...byBlock].filter(([hash]) => !failed.has(hash))
  const nowMs = performance.now()
  const again = [...failed].filter(([, { retryAtMs }]) => retryAtMs <= nowMs).slice(0, RETRIES_PER_ROUND)
  const retried = again.map(([hash]): [string, readonly RecordedClaim[]] => [hash, byBlock.get(hash) ?? []])
  return [...fresh.slice(0, BLOCKS_PER_ROUND - retried.length), ...retried]
}

/** Why the lowest block waits, and how many do. */
function waitingIn(byBlock: ClaimsByBlock, failed: FailedChecks): string | null {
  const lowest = [...byBlock.keys()].find((hash) => failed.has(hash))
  const reason = lowest === undefined ? null : (failed.get(lowest)?.reason ?? null)
  return reason === null || failed.size === 1 ? reason : `${reason}; payments in ${failed.size} blocks wait`
}

/** Why a block's payments must wait; null where all of them stand. */
type BlockCheck = {
  readonly reason: string | null
  readonly isReadAgain: boolean
  /** Keys (`keyOf`) of what was recorded anew. */
  readonly changed?: readonly string[]
}

/**
 * Checks the payments of one block; what fails for it holds up no other. `mayReadAgain`: whether a block whose payments are
 * taken back is read once more, for what they are by now.
 */
async function checkBlock(
  parts: CreditCheckParts,
  claims: readonly RecordedClaim[],
  height: number,
  mayReadAgain: boolean,
): Promise<BlockCheck> {
  const { adapter, agreement, pool, clock } = parts
  const [first] = claims
  if (first === undefined || adapter.credits === undefined) return { reason: null, isReadAgain: false }
  const { height: at } = first.block
  const { own, failure } = await checkFollowed(adapter.credits, claims)
  const elsewhere = agreement?.unverifiedElsewhere
  // Where the followed provider no longer has the block's contents, two others decide.
  const others = (await elsewhere?.(first.block, claims, own === null ? 2 : 1)) ?? []
  const [ours, theirs] = own === null ? others : [own, ...(elsewhere === undefined ? [own] : others)]
  if (ours === undefined || theirs === undefined) {
    const reason =
      own === null
        ? `payments in block ${at} wait: ${failure ?? 'the node no longer has its balances or traces'}`
        : `payments in block ${at} wait for another provider to find them there as well`
    return { reason, isReadAgain: false }
  }
  const disputed = [...ours, ...theirs].find((claim) => ours.includes(claim) !== theirs.includes(claim))
  if (disputed !== undefined) throw contradiction(disputed, ours.includes(disputed))
  let changed: readonly string[] = []
  if (ours.length > 0) {
    // Asked before they are taken back: an address is looked at while it has a payment in the block.
    const again = mayReadAgain ? await readAgain(adapter.credits, first.block) : []
    if (again instanceof ChainUnavailable)
      return { reason: `payments in block ${at} wait: ${again.message}`, isReadAgain: true }
    const gone = ours.map(({ block, ...claim }) => ({ ...claim, blockHash: block.hash }))
    await recordFacts(parts, retractionFacts(adapter.network, gone, clock().getTime()), height)
    changed = await recordMissed(parts, again, height)
  }
  await saveChecked(
    pool,
    claims.filter((claim) => !ours.includes(claim)),
  )
  if (ours.length === 0) return { reason: null, isReadAgain: false }
  return {
    reason: `a payment in block ${at} that was reported before is not there`,
    isReadAgain: true,
    changed,
  }
}

async function readAgain(
  credits: CreditCheck,
  block: RecordedClaim['block'],
): Promise<readonly ScannedBlock[] | ChainUnavailable> {
  try {
    return await credits.read(block)
  } catch (error) {
    if (error instanceof ChainUnavailable) return error
    throw error
  }
}

/**
 * Records what the books lack of blocks that were read again, and returns its keys: it is checked like any other before it
 * is final.
 */
async function recordMissed(
  parts: RecordingParts,
  read: readonly ScannedBlock[],
  height: number,
): Promise<string[]> {
  const { adapter, pool, clock } = parts
  const { network } = adapter
  const found = read.flatMap(({ transfers }) => transfers)
  if (found.length === 0) return []
  const ownerOf = await findOwners(parts, found)
  const blocks = read.map(({ block, transfers }) => ({ block, transfers: owned(transfers, ownerOf) }))
  const keys = blocks.flatMap(({ transfers }) =>
    transfers.map(({ tenant: { merchantId }, txid }) => ({ merchantId, txid })),
  )
  const heights = blocks.map(({ block }) => block.height)
  const range = { from: Math.min(...heights) - 1, to: Math.max(...heights) }
  const missed = missedIn({
    network,
    blocks,
    records: await loadTransfersOf(pool, network, keys),
    booked: await listCreditsBetween(pool, network, null, range),
    tipHeight: height,
    readAtMs: clock().getTime(),
  })
  await recordFacts(parts, withoutFinality(missed), height)
  return missed.flatMap(({ invoiceId, facts }) => facts.map((fact) => keyOf({ invoiceId, ...fact })))
}

/** Which claims the followed provider does not find; null where it cannot tell, or fails for this block. */
async function checkFollowed(
  credits: CreditCheck,
  claims: readonly RecordedClaim[],
): Promise<{ own: readonly RecordedClaim[] | null; failure?: string }> {
  const [first] = claims
  if (first === undefined) return { own: [] }
  try {
    return { own: await credits.unverified(first.block, claims) }
  } catch (error) {
    if (!(error instanceof ChainUnavailable)) throw error
    return { own: null, failure: error.message }
  }
}

function contradiction(
  { txid, amount, asset, addressBytes, block }: RecordedClaim,
  isOurs: boolean,
): ChainHalted {
  const who = isOurs ? 'only another provider finds it there' : 'another provider does not find it there'
  return new ChainHalted(
    `transaction ${txid} was read with a payment of ${amount} base units of ${asset} to 0x${addressBytes} in block ${block.height}, and ${who}: nothing is credited until they agree; leave the one that is wrong out of the list`,
  )
}
