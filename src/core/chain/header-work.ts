/** What a chain demands of the proof of work in a block's header. */
export type WorkRules = {
  /** No target is above it (`powLimit` of the chain's parameters). */
  readonly powLimit: bigint
  /** Test chains let a block have the least work at some times (`fPowAllowMinDifficultyBlocks`). */
  readonly allowsEasyBlocks: boolean
  /** Expected hashes for one block below which no block of this chain is believed; null on test chains. */
  readonly leastWork: bigint | null
}

/** Blocks between two changes of the difficulty (`DifficultyAdjustmentInterval`), the same on all chains of ours. */
const RETARGET_INTERVAL = 2_016
/** One change makes the target at most four times larger or smaller. */
const CHANGE_MAX = 4n

/** The target that a header's `bits` stand for; null where they stand for none: negative, zero or above 2^256. */
export function targetOf(bits: number): bigint | null {
  const size = bits >>> 24
  const mantissa = bits & 0x007f_ffff
  if ((bits & 0x0080_0000) !== 0 && mantissa !== 0) return null
  const target =
    size <= 3 ? BigInt(mantissa) >> BigInt(8 * (3 - size)) : BigInt(mantissa) << BigInt(8 * (size - 3))
  return target === 0n || target >= 1n << 256n ? null : target
}

/** The target as `bits` can hold it, rounded down (`GetCompact`). */
function roundedTarget(target: bigint): bigint {
  const bytes = BigInt(Math.ceil(target.toString(2).length / 8))
  // A mantissa has 23 bits and a sign, so a number with its highest bit set needs a byte more.
  const isWide = (target >> (bytes * 8n - 1n)) & 1n
  const shift = (bytes + isWide - 3n) * 8n
  return shift <= 0n ? target : (target >> shift) << shift
}

/** How many hashes a block with this target takes on average (`GetBlockProof`). */
export const workOf = (target: bigint): bigint => (1n << 256n) / (target + 1n)

/**
 * What is wrong with a header's proof of work, in words that follow "whose header"; null where nothing is.
 * `hash` is the hash that the chain mines with, as a number. The first three rules are `CheckProofOfWork` of
 * Bitcoin Core's and Litecoin's `src/pow.cpp`.
 */
export function workFault({ bits, hash }: { bits: number; hash: bigint }, rules: WorkRules): string | null {
  const target = targetOf(bits)
  if (target === null || target > rules.powLimit) return 'names a target that the chain does not allow'
  if (hash > target) return 'does not have the proof of work that it claims'
  if (rules.leastWork !== null && workOf(target) < rules.leastWork)
    return 'has less proof of work than any block of this chain in years'
  return null
}

/**
 * Whether a block at this height may have these `bits` on top of a block with the others: the same within a period,
 * and within a factor of four where a new one begins (`PermittedDifficultyTransition` of Bitcoin Core's and
 * Litecoin's `src/pow.cpp`, https://github.com/litecoin-project/litecoin/blob/master/src/pow.cpp). The times that
 * the exact rule needs lie 2,016 blocks back, where this provider's word is all there is.
 */
export function isPermittedChange(
  rules: WorkRules,
  change: { readonly height: number; readonly from: number; readonly to: number },
): boolean {
  const { height, from, to } = change
  if (rules.allowsEasyBlocks) return true
  if (height % RETARGET_INTERVAL !== 0) return from === to
  const before = targetOf(from)
  const after = targetOf(to)
  if (before === null || after === null) return false
  const largest = before * CHANGE_MAX > rules.powLimit ? rules.powLimit : before * CHANGE_MAX
  return after <= roundedTarget(largest) && after >= roundedTarget(before / CHANGE_MAX)
}
