import { feeFor, vbytesOf } from '../../../core/payout/select-coins.ts'
import type { UtxoEntry } from '../journal-lines.ts'

/** A transaction has this long to be taken into a block before its fee is looked at again. */
const REPLACE_AFTER_MS = 30 * 60_000
const REPLACEMENTS_MAX = 10
/** A replacement pays for its own relay beside what it replaces (BIP125 rule 4): 1 for a virtual byte. */
const INCREMENT = 1_000n

/**
 * The fee of a replacement, or null where none is due: the last signature is young, its fee is what the network takes now,
 * or the highest fee that was approved does not allow enough.
 */
export function planReplacement(waiting: {
  readonly signed: readonly UtxoEntry[]
  readonly rate: bigint
  readonly feeMax: bigint
  readonly nowMs: number
}): { readonly first: UtxoEntry; readonly networkFee: bigint } | null {
  const first = waiting.signed[0]
  const last = waiting.signed.at(-1)
  if (first === undefined || last === undefined || last.number > REPLACEMENTS_MAX) return null
  if (waiting.nowMs - last.signed_at < REPLACE_AFTER_MS) return null
  const vbytes = vbytesOf(first.inputs.length, first.change !== null)
  const wanted = feeFor(vbytes, waiting.rate)
  const least = BigInt(last.network_fee) + feeFor(vbytes, INCREMENT)
  if (wanted < least || least > waiting.feeMax) return null
  return { first, networkFee: wanted < waiting.feeMax ? wanted : waiting.feeMax }
}
