import { ChainHalted } from '../chain/adapter.ts'
import { keyspaceOfNetwork } from '../core/assets.ts'
import { withdrawn } from '../core/chain/second-reading.ts'
import { keyOf } from '../core/chain/transfer-key.ts'
import { listUncheckedClaims, type RecordedClaim, saveChecked } from '../db/chain/checked-credits.ts'
import { type RecordingParts, recordFacts, type VainChecks } from './record-reading.ts'

/** Blocks in one round: what is new at the head waits no longer than for these. */
const BLOCKS_PER_ROUND = 20
/** Of them, those that were tried in vain before: they cost calls each time, and never keep a new one from its turn. */
const RETRIES_PER_ROUND = 5

/** A round that took so long ends: a provider that hangs over some blocks holds up the head no longer than this. */
const ROUND_MS_MAX = 5_000

type CheckedCredits = {
  /** Keys (`keyOf`) of transfers that must not become final yet. */
  readonly unchecked: ReadonlySet<string>
  /** Whether there is more to look at, at once. */
  readonly hasMore: boolean
}

/**
 * Looks once more, by every provider, for credits that no block's hash proves. What is found is noted, once for each
 * block. What neither the followed provider nor another one finds was told by a provider that is gone, and is taken
 * back. Halts where they contradict each other.
 */
export async function checkCredits(parts: RecordingParts, height: number): Promise<CheckedCredits> {
  const { adapter, pool } = parts
  if (adapter.credits === undefined) return { unchecked: new Set(), hasMore: false }
  const { network } = adapter
  const keyspace = keyspaceOfNetwork(network)
  const { assets } = adapter.credits
  const claims = await listUncheckedClaims(pool, { network, keyspace, assets, height })
  const byBlock = new Map<string, RecordedClaim[]>()
  for (const claim of claims) byBlock.set(claim.block.hash, [...(byBlock.get(claim.block.hash) ?? []), claim])
  const unchecked = new Set(claims.map(keyOf))
  let checkedBlocks = 0
  const beganAt = performance.now()
  for (const [hash, inBlock] of nextBlocks(byBlock, parts.vainChecks)) {
    if (performance.now() - beganAt > ROUND_MS_MAX) break
    const reason = await checkBlock(parts, inBlock, height)
    parts.vainChecks.delete(hash)
    if (reason !== null) parts.vainChecks.set(hash, reason)
    if (reason !== null) continue
    checkedBlocks += 1
    for (const claim of inBlock) unchecked.delete(keyOf(claim))
  }
  parts.onWaiting?.(waitingIn(byBlock, parts.vainChecks))
  return { unchecked, hasMore: checkedBlocks > 0 && byBlock.size > BLOCKS_PER_ROUND }
}

type ClaimsByBlock = ReadonlyMap<string, readonly RecordedClaim[]>

/** The blocks of one round: the lowest that were never tried, and then those that were tried longest ago. */
function nextBlocks(byBlock: ClaimsByBlock, vain: VainChecks): [string, readonly RecordedClaim[]][] {
  for (const hash of vain.keys()) if (!byBlock.has(hash)) vain.delete(hash)
  const fresh = [...byBlock].filter(([hash]) => !vain.has(hash))
  const again = [...vain.keys()].slice(0, RETRIES_PER_ROUND)
  const retried = again.map((hash): [string, readonly RecordedClaim[]] => [hash, byBlock.get(hash) ?? []])
  return [...fresh.slice(0, BLOCKS_PER_ROUND - retried.length), ...retried]
}

/** Why the lowest block waits, and how many do. */
function waitingIn(byBlock: ClaimsByBlock, vain: VainChecks): string | null {
  const lowest = [...byBlock.keys()].find((hash) => vain.has(hash))
  const reason = lowest === undefined ? null : (vain.get(lowest) ?? null)
  return reason === null || vain.size === 1 ? reason : `${reason}; payments in ${vain.size} blocks wait`
}

/** Why they must wait; null where all of them stand. */
async function checkBlock(
  parts: RecordingParts,
  claims: readonly RecordedClaim[],
  height: number,
): Promise<string | null> {
  const { adapter, agreement, pool, clock } = parts
  const [first] = claims
  if (first === undefined || adapter.credits === undefined) return null
  const { height: at } = first.block
  const ours = await adapter.credits.unfound(first.block, claims)
  if (ours === null)
    return `payments in block ${at} wait: the node does not tell balances or traces of it any more`
  const theirs =
    agreement?.unfoundElsewhere === undefined ? ours : await agreement.unfoundElsewhere(first.block, claims)
  if (theirs === null) return `payments in block ${at} wait for another provider to find them there as well`
  const disputed = [...ours, ...theirs].find((claim) => ours.includes(claim) !== theirs.includes(claim))
  if (disputed !== undefined) throw contradiction(disputed, ours.includes(disputed))
  const nowMs = clock().getTime()
  for (const { block, ...gone } of ours) {
    await recordFacts(parts, withdrawn(adapter.network, { ...gone, blockHash: block.hash }, nowMs), height)
  }
  await saveChecked(
    pool,
    claims.filter((claim) => !ours.includes(claim)),
  )
  return ours.length === 0 ? null : `a payment in block ${at} that was told before is not there`
}

function contradiction({ txid, amount, asset, program, block }: RecordedClaim, isOurs: boolean): ChainHalted {
  const who = isOurs ? 'only another provider finds it there' : 'another provider does not find it there'
  return new ChainHalted(
    `transaction ${txid} was read with a payment of ${amount} base units of ${asset} to 0x${program} in block ${block.height}, and ${who}: nothing is credited until they agree; leave the one that is wrong out of the list`,
  )
}
