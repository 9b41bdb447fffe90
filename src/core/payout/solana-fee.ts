/** What Solana takes for each signature, lamports. */
export const LAMPORTS_PER_SIGNATURE = 5_000n
/** A payout is signed by the fee payer, who also moves the nonce on, and by the vault. */
const PAYOUT_SIGNATURES = 2n
/** More than a payout computes: a nonce moved on, two transfers, and the limit and price themselves (150 units each). */
export const PAYOUT_UNIT_LIMIT = 2_000
/** Deposit addresses swept by one transaction: a packet of 1,232 bytes holds this many signatures beside the fee payer's. */
export const SWEEP_SOURCES_MAX = 9

/** Prices of a unit are in millionths of a lamport; no reading above this is believed. */
export const UNIT_PRICE_MAX = 5_000_000
const MICRO = 1_000_000n

/** What a payout costs at least, lamports. */
export const SOLANA_FEE_MIN = PAYOUT_SIGNATURES * LAMPORTS_PER_SIGNATURE

/** What a payout costs at this price of a compute unit, lamports, rounded up as the chain does. */
export function solanaFee(unitPrice: number): bigint {
  return SOLANA_FEE_MIN + (BigInt(unitPrice) * BigInt(PAYOUT_UNIT_LIMIT) + MICRO - 1n) / MICRO
}

/** The price, at most `unitPrice`, at which a payout costs no more than `feeMax`; null where even none is too much. */
export function unitPriceWithin(unitPrice: number, feeMax: bigint): number | null {
  if (feeMax < SOLANA_FEE_MIN) return null
  const affordable = ((feeMax - SOLANA_FEE_MIN) * MICRO) / BigInt(PAYOUT_UNIT_LIMIT)
  return affordable < BigInt(unitPrice) ? Number(affordable) : unitPrice
}

/** The price to offer: what the middle of those who paid lately paid. */
export function usualUnitPrice(prices: readonly number[]): number {
  const sorted = [...prices].sort((one, other) => one - other)
  return Math.min(UNIT_PRICE_MAX, sorted[Math.floor(sorted.length / 2)] ?? 0)
}
