/** Solana's fee per signature, in lamports. */
export const LAMPORTS_PER_SIGNATURE = 5_000n
/** A payout is signed by the fee payer, who also moves the nonce on, and by the vault. */
const PAYOUT_SIGNATURES = 2n
/**
 * More than a payout uses: advancing a nonce, two transfers, and setting the limit and price themselves (150 units
 * each).
 */
export const PAYOUT_UNIT_LIMIT = 2_000
/** Deposit addresses swept by one transaction: a packet of 1,232 bytes holds this many signatures beside the fee payer's. */
export const SWEEP_SOURCES_MAX = 9

/**
 * The same of tokens: each has its account beside the address, and the vault's own account, which the first sweep creates,
 * is named with the programs that this takes.
 */
export const TOKEN_SWEEP_SOURCES_MAX = 5
/** What sweeping one address's tokens takes at most, in lamports: its own signature and the fee payer's. */
export const TOKEN_SWEEP_COST = 2n * LAMPORTS_PER_SIGNATURE
/** More than a payout of tokens uses: 4,100 units of the Token Extensions program, some 6,500 of an older Token program. */
export const TOKEN_UNIT_LIMIT = 40_000
/** The same where it creates the destination's token account: up to 30,000, for each further try at its address 1,500 more. */
export const TOKEN_ACCOUNT_UNIT_LIMIT = 150_000

/**
 * What a payer's own transaction may use of compute units, and how many lamports it may bid for them: 0.0001 SOL. The
 * protocol's client asks for 20,000 and bids less than one.
 */
export const X402_UNITS_MAX = 200_000
export const X402_PRIORITY_FEE_MAX = 100_000n

/** Prices of a unit are in millionths of a lamport; no reading above this is believed. */
export const UNIT_PRICE_MAX = 5_000_000
const MICRO = 1_000_000n

/** The least a payout costs, in lamports. */
export const SOLANA_FEE_MIN = PAYOUT_SIGNATURES * LAMPORTS_PER_SIGNATURE

/** The cost of a payout at this price of a compute unit, in lamports, rounded up as the chain does. */
export function solanaFee(unitPrice: number): bigint {
  return SOLANA_FEE_MIN + (BigInt(unitPrice) * BigInt(PAYOUT_UNIT_LIMIT) + MICRO - 1n) / MICRO
}

/** The most that a payout of tokens costs the fee payer, in lamports, beside what an account must hold that it creates. */
export const tokenFee = (units: number, unitPrice: number): bigint =>
  SOLANA_FEE_MIN + (BigInt(units) * BigInt(unitPrice) + MICRO - 1n) / MICRO

/**
 * What a token account must hold, in lamports, with room: rent is by the byte, and each account counts 128 more than it has
 * (Rent of the Solana SDK). Those of 256 bytes, which no account of our tokens has, cost three times those without data.
 */
export const tokenAccountRent = (rentExempt: bigint): bigint => 3n * rentExempt

/** The price, millionths of a lamport, for creating a token account by x402: no more is paid for it than for the payment. */
export const creationUnitPrice = (unitPrice: number): number =>
  Math.min(Math.max(0, unitPrice), Number((X402_PRIORITY_FEE_MAX * MICRO) / BigInt(TOKEN_ACCOUNT_UNIT_LIMIT)))

/** The most that one x402 payment costs its fee payer, in lamports, with the token account that it may have to create. */
export const x402CostMax = (accountRent: bigint): bigint =>
  accountRent + 3n * LAMPORTS_PER_SIGNATURE + 2n * X402_PRIORITY_FEE_MAX

/**
 * The price, at most `unitPrice`, at which a payout costs no more than `feeMax`; null if it costs more even at price
 * zero.
 */
export function unitPriceWithin(unitPrice: number, feeMax: bigint): number | null {
  if (feeMax < SOLANA_FEE_MIN) return null
  const affordable = ((feeMax - SOLANA_FEE_MIN) * MICRO) / BigInt(PAYOUT_UNIT_LIMIT)
  return affordable < BigInt(unitPrice) ? Number(affordable) : unitPrice
}

/** The price to offer: the median of what recent transactions paid. */
export function usualUnitPrice(prices: readonly number[]): number {
  const sorted = [...prices].sort((one, other) => one - other)
  return Math.min(UNIT_PRICE_MAX, sorted[Math.floor(sorted.length / 2)] ?? 0)
}
