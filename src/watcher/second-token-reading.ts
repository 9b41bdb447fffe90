import { isDeepStrictEqual } from 'node:util'
import { type ChainAdapter, ChainHalted, type TokenReading } from '../chain/adapter.ts'
import { type Comparison, compareReadings, retractionFacts } from '../core/chain/second-reading.ts'
import type { BlockRef } from '../core/invoice/types.ts'
import {
  beginSecondReading,
  listCreditsBetween,
  moveSecondReading,
  type SecondCheckpoint,
} from '../db/chain/second-reading.ts'
import { ROUND_MS_MAX } from './finality-round.ts'
import { type RecordingParts, recordFacts, whileLeading } from './record-facts.ts'
import { findOwners, owned } from './record-reading.ts'
import { TOKEN_BLOCKS_MAX, type TokenReadingPace } from './token-reading-pace.ts'

export type TokenReadingParts = RecordingParts & {
  /** How fast tokens are read by two providers; kept from one round to the next. */
  readonly tokenReading: TokenReadingPace
}

/** Readings in one round, if they are fast: what is new at the head waits no longer than for these. */
const READINGS_PER_ROUND = 4

/**
 * Reads token transfers a second time, up to `toHeight`, and records what the first reading missed. Halts where the
 * books hold a credit that the blocks do not. Returns the height up to which tokens may become final (every height where
 * nothing is read twice), and whether there is more to read at once.
 */
export async function readTokensAgain(
  parts: TokenReadingParts,
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
    if (next === null) {
      const lowered = await leaveFork(parts, at, checkpoint)
      return { through: (lowered ?? at).height, hasMore: lowered !== null }
    }
    at = next
  }
  return { through: at?.height ?? 0, hasMore: at !== null && at.height < target }
}

/** Null where the sources are not so far, do not agree, or the chain moved. */
async function readOnce(
  parts: TokenReadingParts,
  at: SecondCheckpoint,
  toHeight: number,
  checkpoint: BlockRef,
): Promise<SecondCheckpoint | null> {
  const { adapter } = parts
  const reading = await readTokens(parts, { ...at, timeMs: 0 }, toHeight)
  if (reading === null || !(await isBelow(adapter, reading.end, checkpoint))) return null
  const { end, compared } = reading
  if (compared.kind === 'contradicted') await takeBack(parts, compared, checkpoint.height)
  else await recordFacts(parts, compared.missed, checkpoint.height)
  return (await whileLeading(parts, (tx) => moveSecondReading(tx, adapter.network, at, end))) ? end : null
}

/**
 * Whether a block is the checkpoint or an ancestor of it. An endpoint may stand for several nodes, of which one is on
 * another fork: what it answers proves itself, and is not of our chain.
 */
async function isBelow(
  adapter: ChainAdapter,
  block: SecondCheckpoint,
  checkpoint: BlockRef,
): Promise<boolean> {
  const { height, hash } = block
  if (height === checkpoint.height) return hash === checkpoint.hash
  const remembered = adapter.rememberedAt?.(checkpoint, height) ?? null
  if (remembered !== null) return remembered === hash
  return (await isOnChain(adapter, block)) && (await isOnChain(adapter, checkpoint))
}

const isOnChain = async (adapter: ChainAdapter, { height, hash }: SecondCheckpoint): Promise<boolean> =>
  (await adapter.hashAt(height)) === hash

/**
 * Where the second reading itself stands on another fork, nothing would ever follow it: it is put back as far as one reading
 * may have come. Null where it stands on our chain, or nobody can tell.
 */
async function leaveFork(
  parts: TokenReadingParts,
  at: SecondCheckpoint,
  checkpoint: BlockRef,
): Promise<SecondCheckpoint | null> {
  const { adapter } = parts
  if (at.height === 0 || (await isBelow(adapter, at, checkpoint))) return null
  const height = Math.max(0, at.height - TOKEN_BLOCKS_MAX)
  const hash = adapter.rememberedAt?.(checkpoint, height) ?? (await adapter.hashAt(height))
  // Asked last: our chain is still the node's, and the block below it ours.
  if (hash === null || !(await isOnChain(adapter, checkpoint))) return null
  const lower = { height, hash }
  return (await whileLeading(parts, (tx) => moveSecondReading(tx, adapter.network, at, lower))) ? lower : null
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
  parts: TokenReadingParts,
  from: BlockRef,
  toHeight: number,
): Promise<ComparedReading | null> {
  const { adapter, agreement, tokenReading: pace } = parts
  const readTwice = agreement?.readTokensTwice
  if (readTwice === undefined) {
    const proof = (await adapter.tokens?.prove(from, toHeight)) ?? null
    return proof === null ? null : ((await compareWithBooks(parts, from, [proof]))[0] ?? null)
  }
  if (pace.isPaused) return null
  const through = Math.min(toHeight, from.height + pace.blocks)
  const reports = await readTwice('read', from, through)
  const [report, otherReport] = await compareWithBooks(parts, from, reports ?? [])
  if (report?.compared.kind === 'agreed' && isDeepStrictEqual(report, otherReport)) {
    pace.succeeded()
    // What is too much for one answer would fail for ever: as many as went well, and more once nothing is left to read.
    if (through === toHeight) pace.faster()
    return report
  }
  const proofs = await readTwice('prove', from, Math.min(through, from.height + BLOCKS_PER_PROOF))
  const [proof, otherProof] = await compareWithBooks(parts, from, proofs ?? [])
  if (proof !== undefined && isDeepStrictEqual(proof, otherProof)) {
    pace.succeeded()
    return proof
  }
  // Nobody was asked: who kept us waiting is left alone for now.
  if (reports === null && proofs === null) return null
  if (proof !== undefined && otherProof !== undefined)
    throw new ChainHalted(
      `two providers have different receipts in blocks ${from.height + 1} to ${proof.end.height}: nothing is credited until they agree; leave the one that is wrong out of the list`,
    )
  const lacking = otherReport === undefined ? 'logs or receipts' : 'receipts, since their logs differ'
  pace.failed(`payments in tokens above block ${from.height} wait: two providers must give ${lacking}`)
  return null
}

/** Each of these readings, which end alike, beside what the books hold. */
async function compareWithBooks(
  parts: TokenReadingParts,
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
  parts: TokenReadingParts,
  { first, booked }: Extract<Comparison, { kind: 'contradicted' }>,
  height: number,
): Promise<never> {
  await recordFacts(parts, retractionFacts(parts.adapter.network, booked, parts.clock().getTime()), height)
  const { txid, amount, asset } = first.booked
  const says = first.found === null ? 'does not find it' : `finds ${first.found}`
  throw new ChainHalted(
    `transaction ${txid} was read with a payment of ${amount} base units of ${asset}, and the second reading ${says}: nothing is credited until two readings agree`,
  )
}
