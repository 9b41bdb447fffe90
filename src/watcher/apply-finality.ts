import { isDeepStrictEqual } from 'node:util'
import { ChainHalted, ChainUnavailable, type CreditCheck, type TokenReading } from '../chain/adapter.ts'
import { keyspaceOfNetwork } from '../core/assets.ts'
import { blocksOf, type DueTransfer, dueAt, finalFacts } from '../core/chain/due-transfers.ts'
import { keyOfTracked } from '../core/chain/reconcile.ts'
import { type Comparison, compareReadings, withdrawn } from '../core/chain/second-reading.ts'
import { keyOf } from '../core/chain/transfer-key.ts'
import type { BlockTags } from '../core/finality.ts'
import type { BlockRef } from '../core/invoice/types.ts'
import { listUncheckedClaims, type RecordedClaim, saveChecked } from '../db/chain/checked-credits.ts'
import {
  beginSecondReading,
  listCreditsBetween,
  moveSecondReading,
  type SecondCheckpoint,
} from '../db/chain/second-reading.ts'
import { loadTrackedTransfers } from '../db/invoices/transfers.ts'
import {
  type FailedChecks,
  findOwners,
  isFinalLater,
  owned,
  type RecordingParts,
  recordFacts,
  TOKEN_BLOCKS_MAX,
  whileLeading,
} from './record-reading.ts'

type FinalityApplied = {
  /** Null where there are none. */
  readonly blockTags: BlockTags | null
  /** Whether to continue at once: a round does only part of the work, so that the head does not wait. */
  readonly hasMore: boolean
}

/**
 * Makes final what has its confirmations, or its mark, at the checkpoint, is in blocks that a second provider has too,
 * and was read twice where one reading proves little; the rest waits. Where one provider decides alone on a counted
 * chain nothing is left to do: its blocks' own facts did it.
 */
export async function applyFinality(parts: RecordingParts, checkpoint: BlockRef): Promise<FinalityApplied> {
  const { adapter, agreement, pool } = parts
  if (!isFinalLater(parts)) return { blockTags: null, hasMore: false }
  const blockTags = (await adapter.readBlockTags?.(checkpoint)) ?? null
  // The chain moved, or no provider confirms our place on it: nothing can be judged in this round.
  if (blockTags === null && adapter.readBlockTags !== undefined) return { blockTags, hasMore: false }
  const { height } = checkpoint
  const waiting = dueAt(height, blockTags, await loadTrackedTransfers(pool, adapter.network, height))
  const readTwice = await readAgain(parts, checkpoint, highest(waiting, blockTags))
  const checked = await checkCredits(parts, height)
  const reasons = [parts.tokenReading.reason ?? [], checked.waiting ?? []].flat()
  parts.onWaiting?.(reasons.length === 0 ? null : reasons.join('; '))
  // What was recorded since then, by a second reading or by a rescan beside us, was not looked at in this round.
  const mayBeFinal = waiting.filter((transfer) => {
    const { payment, block } = transfer
    if (checked.unchecked.has(keyOfTracked(transfer))) return false
    return adapter.tokens?.assets.includes(payment.asset) !== true || block.height <= readTwice.through
  })
  const blocks = blocksOf(mayBeFinal)
  const agreed =
    agreement === null ? new Set(blocks.map(({ hash }) => hash)) : await agreement.agreedBlocks(blocks)
  await recordFacts(parts, finalFacts(mayBeFinal, agreed), height)
  return { blockTags, hasMore: readTwice.hasMore || checked.hasMore }
}

/** What is safe is read a second time, and what is due before that by a rule that counts blocks. */
function highest(due: readonly DueTransfer[], blockTags: BlockTags | null): number {
  return due.reduce((max, { block }) => Math.max(max, block.height), blockTags?.safe ?? 0)
}

/** Readings in one round, if they are fast: what is new at the head waits no longer than for these. */
const READINGS_PER_ROUND = 4
/** No part of a round begins after this: a provider that hangs on some blocks delays the head for one answer. */
const ROUND_MS_MAX = 5_000

/**
 * Reads token transfers a second time, up to `toHeight`, and records what the first reading missed. Halts where the
 * books hold a credit that the blocks do not. Returns the height up to which tokens may become final (every height where
 * nothing is read twice), and whether there is more to read at once.
 */
async function readAgain(
  parts: RecordingParts,
  checkpoint: BlockRef,
  toHeight: number,
): Promise<{ readonly through: number; readonly hasMore: boolean }> {
  const { adapter, pool } = parts
  if (adapter.tokens === undefined || adapter.tokens.assets.length === 0)
    return { through: Number.POSITIVE_INFINITY, hasMore: false }
  let at = await beginSecondReading(pool, adapter.network)
  const target = Math.min(toHeight, checkpoint.height)
  const beganAt = performance.now()
  for (let round = 0; round < READINGS_PER_ROUND && at !== null && at.height < target; round++) {
    if (performance.now() - beganAt > ROUND_MS_MAX) break
    const next = await readOnce(parts, at, Math.min(target, at.height + TOKEN_BLOCKS_MAX), checkpoint)
    if (next === null) return { through: at.height, hasMore: false }
    at = next
  }
  return { through: at?.height ?? 0, hasMore: at !== null && at.height < target }
}

/** Null where the sources are not so far, do not agree, or the chain moved. */
async function readOnce(
  parts: RecordingParts,
  at: SecondCheckpoint,
  toHeight: number,
  checkpoint: BlockRef,
): Promise<SecondCheckpoint | null> {
  const { adapter } = parts
  const reading = await readTokens(parts, { ...at, timeMs: 0 }, toHeight)
  if (reading === null || (reading.end.height === checkpoint.height && reading.end.hash !== checkpoint.hash))
    return null
  const { end, compared } = reading
  if (compared.kind === 'contradicted') await takeBack(parts, compared, checkpoint.height)
  else await recordFacts(parts, compared.missed, checkpoint.height)
  return (await whileLeading(parts, (tx) => moveSecondReading(tx, adapter.network, at, end))) ? end : null
}

type ComparedReading = { readonly end: BlockRef; readonly compared: Comparison }

/** Receipts of so few blocks at a time decide what logs left open: they must come within the time of one answer. */
const BLOCKS_PER_PROOF = 8

/**
 * With one provider, what receipts prove. With several, what two of them say alike: by their logs, and where those differ,
 * or lack what is in the books, by their receipts. Nobody's word alone adds or takes anything, also not that of who has
 * reported the payment first.
 */
async function readTokens(
  parts: RecordingParts,
  from: BlockRef,
  toHeight: number,
): Promise<ComparedReading | null> {
  const { adapter, agreement, tokenReading: state } = parts
  const readTwice = agreement?.readTokensTwice
  if (readTwice === undefined) {
    const proof = (await adapter.tokens?.prove(from, toHeight)) ?? null
    return proof === null ? null : ((await compareWithBooks(parts, from, [proof]))[0] ?? null)
  }
  if (performance.now() < state.retryAtMs) return null
  const through = Math.min(toHeight, from.height + state.blocks)
  const words = await readTwice('read', from, through)
  const [word, otherWord] = await compareWithBooks(parts, from, words ?? [])
  if (word?.compared.kind === 'agreed' && isDeepStrictEqual(word, otherWord)) {
    // What is too much for one answer would fail for ever: as many as went well, and more once nothing is left to read.
    const blocks = through === toHeight ? Math.min(TOKEN_BLOCKS_MAX, state.blocks * 2) : state.blocks
    Object.assign(state, { blocks, failures: 0, reason: null, retryAtMs: 0 })
    return word
  }
  const proofs = await readTwice('prove', from, Math.min(through, from.height + BLOCKS_PER_PROOF))
  const [proof, otherProof] = await compareWithBooks(parts, from, proofs ?? [])
  if (proof !== undefined && isDeepStrictEqual(proof, otherProof)) {
    Object.assign(state, { failures: 0, reason: null, retryAtMs: 0 })
    return proof
  }
  // Nobody was asked: who kept us waiting is left alone for now.
  if (words === null && proofs === null) return null
  if (proof !== undefined && otherProof !== undefined)
    throw new ChainHalted(
      `two providers have different receipts in blocks ${from.height + 1} to ${proof.end.height}: nothing is credited until they agree; leave the one that is wrong out of the list`,
    )
  const lacking = otherWord === undefined ? 'logs or receipts' : 'receipts, since their logs differ'
  // One of them may only have been a moment behind.
  if (state.failures > 0)
    state.reason = `payments in tokens above block ${from.height} wait: two providers must give ${lacking}`
  state.retryAtMs = performance.now() + Math.min(RETRY_MS_MAX, RETRY_MS_MIN << state.failures)
  state.failures = Math.min(FAILURES_MAX, state.failures + 1)
  state.blocks = Math.max(1, state.blocks >> 1)
  return null
}

/** Each of these readings, which end alike, beside what the books hold. */
async function compareWithBooks(
  parts: RecordingParts,
  from: BlockRef,
  readings: readonly TokenReading[],
): Promise<ComparedReading[]> {
  const { adapter, pool, clock } = parts
  const { network, tokens } = adapter
  const range = { from: from.height, to: readings[0]?.end.height ?? from.height }
  const booked = await listCreditsBetween(pool, network, tokens?.assets ?? [], range)
  const transfers = readings.flatMap(({ blocks }) => blocks.flatMap((block) => block.transfers))
  const ownerOf = await findOwners(parts, transfers)
  const readAtMs = clock().getTime()
  return readings.map(({ end, blocks }) => ({
    end,
    compared: compareReadings({
      network,
      blocks: blocks.map(({ block, transfers: found }) => ({ block, transfers: owned(found, ownerOf) })),
      booked,
      readAtMs,
    }),
  }))
}

/**
 * Takes back what the blocks prove was never there, and halts all the same: whoever reported it is not to be believed. If
 * a payment is there with another amount, that amount is recorded when these blocks are read again.
 */
async function takeBack(
  parts: RecordingParts,
  { first, booked }: Extract<Comparison, { kind: 'contradicted' }>,
  height: number,
): Promise<never> {
  await recordFacts(parts, withdrawn(parts.adapter.network, booked, parts.clock().getTime()), height)
  const { txid, amount, asset } = first.booked
  const says = first.found === null ? 'does not find it' : `finds ${first.found}`
  throw new ChainHalted(
    `transaction ${txid} was read with a payment of ${amount} base units of ${asset}, and the second reading ${says}: nothing is credited until two readings agree`,
  )
}

/** Blocks in one round: what is new at the head waits no longer than for these. */
const BLOCKS_PER_ROUND = 20
/** Of them, those that were tried in failed before: they cost calls each time, and never keep a new one from its turn. */
const RETRIES_PER_ROUND = 5
/** A block that could not be checked is tried again after a pause, which doubles. */
const RETRY_MS_MIN = 500
const RETRY_MS_MAX = 60_000
/** More than these pause no longer. */
const FAILURES_MAX = 7

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
async function checkCredits(parts: RecordingParts, height: number): Promise<CheckedCredits> {
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
    const reason = await checkBlock(parts, inBlock, height)
    const failedBefore = parts.failedChecks.get(hash)
    parts.failedChecks.delete(hash)
    if (reason !== null) {
      const pauseMs = Math.min(RETRY_MS_MAX, (failedBefore?.pauseMs ?? RETRY_MS_MIN / 2) * 2)
      parts.failedChecks.set(hash, { reason, pauseMs, retryAtMs: performance.now() + pauseMs })
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

/** Why a block's payments must wait; null where all of them stand. What fails for one block holds up no other. */
async function checkBlock(
  parts: RecordingParts,
  claims: readonly RecordedClaim[],
  height: number,
): Promise<string | null> {
  const { adapter, agreement, pool, clock } = parts
  const [first] = claims
  if (first === undefined || adapter.credits === undefined) return null
  const { height: at } = first.block
  const { own, failure } = await askFollowed(adapter.credits, claims)
  const elsewhere = agreement?.unverifiedElsewhere
  // Where the followed provider no longer has the block's contents, two others decide.
  const others = (await elsewhere?.(first.block, claims, own === null ? 2 : 1)) ?? []
  const [ours, theirs] = own === null ? others : [own, ...(elsewhere === undefined ? [own] : others)]
  if (ours === undefined || theirs === undefined)
    return own === null
      ? `payments in block ${at} wait: ${failure ?? 'the node no longer has its balances or traces'}`
      : `payments in block ${at} wait for another provider to find them there as well`
  const disputed = [...ours, ...theirs].find((claim) => ours.includes(claim) !== theirs.includes(claim))
  if (disputed !== undefined) throw contradiction(disputed, ours.includes(disputed))
  const nowMs = clock().getTime()
  const gone = ours.map(({ block, ...claim }) => ({ ...claim, blockHash: block.hash }))
  await recordFacts(parts, withdrawn(adapter.network, gone, nowMs), height)
  await saveChecked(
    pool,
    claims.filter((claim) => !ours.includes(claim)),
  )
  return ours.length === 0 ? null : `a payment in block ${at} that was reported before is not there`
}

/** Which claims the followed provider does not find; null where it cannot tell, or fails for this block. */
async function askFollowed(
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
