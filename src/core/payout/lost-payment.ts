import type { Payout } from './payout.ts'

/** Signals that a transaction may be replaced by one with a higher fee (BIP125), without a relative lock (BIP68). */
export const SEQUENCE_REPLACEABLE = 0xfffffffd

type Terms = Pick<Payout, 'amount' | 'networkFeeMax'>

/** What a transaction over coins says, apart from the coins. */
export type CoinPayment = {
  /** Base units; the script in hex. */
  readonly outputs: readonly { readonly script: string; readonly amount: bigint }[]
  /** Of its inputs, as far as the node says them. */
  readonly sequences: readonly number[]
  /** Null where the node does not say it. */
  readonly lockTime: number | null
}

/**
 * Whether a transaction over coins may be one that was signed for this payout and is lost: each of those, of any release, pays
 * the destination (`script`, in hex) first, what `isWithinFee` says, has change at most beside that, may be replaced, and has
 * no lock. Which coins it spends says nothing: what was lost may have been signed over others.
 */
export function mayPayCoins(payout: Terms, script: string, payment: CoinPayment): boolean {
  const [paid, , further] = payment.outputs
  if (paid?.script !== script || further !== undefined) return false
  if ((payment.lockTime ?? 0) !== 0) return false
  if (payment.sequences.some((sequence) => sequence !== SEQUENCE_REPLACEABLE)) return false
  return paid.amount < payout.amount && isWithinFee(payout, paid.amount)
}

/**
 * Whether a transaction that pays so much of the payout's own coin, base units, may be the payout's: the fee comes out of the
 * amount, and the highest that was approved bounds every signature.
 */
export function isWithinFee({ amount, networkFeeMax }: Terms, paid: bigint): boolean {
  return paid <= amount && amount - paid <= networkFeeMax
}
