import { ASSETS, type AssetId } from '../assets.ts'

/** Live money may go to a new destination after this time, so that whoever took over a sign-in has to wait. */
export const COOL_OFF_MS = 24 * 3_600_000
/** From when a credential approves that never will: it has to be set up again. */
export const NEVER_COUNTS = new Date('9999-12-31T00:00:00Z')
/** A merchant's daily limit counts what was asked for, and what was approved, in this time. */
export const LIMIT_WINDOW_MS = 24 * 3_600_000
/** How many times the shown fee may grow while the network is busy; never over half the amount. */
const FEE_GROWTH = 3n

/**
 * The smallest payment that a payout may be: on UTXO chains the smallest output that is relayed (P2WPKH at the default
 * dust fee, with room), on EVM networks what is more than dust here. Undefined for SOL, of which its accounts say it; a
 * token's may create an account, and half of the smallest invoice is what that costs.
 */
export function fixedPayoutMin(asset: AssetId): bigint | undefined {
  const { keyFamily, dustBelow, minimum } = ASSETS[asset]
  const solana = minimum === null ? undefined : minimum / 2n
  const outputs = { bitcoin: 546n, litecoin: 5_460n, evm: dustBelow, solana }
  return outputs[keyFamily]
}

type PayoutPlan =
  | { readonly kind: 'planned'; readonly networkFee: bigint; readonly networkFeeMax: bigint }
  /** After the fee nothing worth sending is left, or the fee would be over half of the amount. */
  | { readonly kind: 'too_small'; readonly minimum: bigint }

/** A payout's fee, and the most it may become, from the estimate of its transaction. */
export function planFee(amount: bigint, estimate: bigint, outputMin: bigint): PayoutPlan {
  const half = amount / 2n
  if (estimate > half || amount - half < outputMin) {
    const byFee = 2n * estimate
    const byOutput = 2n * outputMin
    return { kind: 'too_small', minimum: byFee > byOutput ? byFee : byOutput }
  }
  const grown = estimate * FEE_GROWTH
  return { kind: 'planned', networkFee: estimate, networkFeeMax: grown < half ? grown : half }
}

/** What keeps an approved payout from being signed, and may pass, is waited for so long: a price, or money that is not there. */
const WAIT_MS = 24 * 3_600_000

/** Whether it has waited long enough. */
export const isWaitOver = (
  { approvedAtMs, createdAtMs }: { readonly approvedAtMs: number | null; readonly createdAtMs: number },
  nowMs: number,
): boolean => nowMs - (approvedAtMs ?? createdAtMs) > WAIT_MS
