/** A coin of ours that pays to a public key's hash (BIP141). */
export type Coin = {
  readonly txid: string
  readonly outputIndex: number
  /** Base units. */
  readonly amount: bigint
}

type CoinSelection<C extends Coin> = {
  readonly coins: readonly C[]
  /** What comes back to us; 0 where no change is worth an output. */
  readonly change: bigint
  /** What the miner gets. */
  readonly fee: bigint
}

/** Weights of a segwit transaction in virtual bytes (BIP141), rounded up for each part. */
const OVERHEAD_VBYTES = 11
/** A P2WPKH input whose signature has 72 bytes: 41 bytes, and a witness of 109 at a quarter. */
const INPUT_VBYTES = 69
/** The largest standard output: 8 bytes of amount, 1 of length, 34 of script. */
const OUTPUT_VBYTES = 43
/** P2WPKH change. */
const CHANGE_VBYTES = 31
/** A standard transaction has at most 100,000 virtual bytes; so many inputs stay well below. */
export const INPUTS_MAX = 1_000
const ATTEMPTS_MAX = 20_000

/** Base units that so many virtual bytes cost, rounded up; `rate` is thousandths of a base unit for each. */
export const feeFor = (vbytes: number, rate: bigint): bigint => (BigInt(vbytes) * rate + 999n) / 1_000n

/** Virtual bytes of a transaction of this form, never less than it will have. */
export const vbytesOf = (inputs: number, hasChange: boolean): number =>
  OVERHEAD_VBYTES + inputs * INPUT_VBYTES + OUTPUT_VBYTES + (hasChange ? CHANGE_VBYTES : 0)

/** What a virtual byte of the change's own input will cost later, as a part of what one costs today: nobody knows. */
const LATER = 0.5

/**
 * Bitcoin Core's waste metric (`SelectionResult::RecalculateWaste`, src/wallet/coinselection.cpp), in virtual bytes at today's
 * rate: what inputs cost today beyond what they would cost later, and what change costs, its output today and its input later.
 * Nothing is ever given away beyond the fee, so that the metric's excess is 0.
 */
const wasteOf = (inputs: number, hasChange: boolean): number =>
  inputs * INPUT_VBYTES * (1 - LATER) + (hasChange ? CHANGE_VBYTES + INPUT_VBYTES * LATER : 0)

/**
 * Chooses coins for a payment of which the fee is part: inputs = `amount` + change, and the destination gets `amount` −
 * fee. Nothing is left to the miner beyond the fee, so that the ledger and the coins agree to the last unit: the fewest coins
 * worth exactly `amount` that branch and bound finds, where they waste no more than the fewest with change of `changeMin` or
 * more, which are the largest. Null where all coins together do not do, or more would be needed than fit.
 */
export function selectCoins<C extends Coin>(
  coins: readonly C[],
  amount: bigint,
  terms: { readonly rate: bigint; readonly changeMin: bigint },
): CoinSelection<C> | null {
  const sorted = [...coins].sort(byAmount)
  const largest = largestFirst(sorted, amount + terms.changeMin)
  let most = INPUTS_MAX
  if (largest !== null) {
    const affordable = wasteOf(largest.length, true)
    while (most > 0 && wasteOf(most, false) > affordable) most -= 1
  }
  const exact = branchAndBound(sorted, amount, most)
  if (exact !== null) return selectionOf(exact, 0n, terms.rate)
  return largest === null ? null : selectionOf(largest, sumOf(largest) - amount, terms.rate)
}

const sumOf = (coins: readonly Coin[]): bigint => coins.reduce((sum, { amount }) => sum + amount, 0n)

/** The largest coins, as many as are worth so much; null where they are too many, or not enough. */
function largestFirst<C extends Coin>(sorted: readonly C[], worth: bigint): readonly C[] | null {
  let sum = 0n
  for (const [at, { amount }] of sorted.slice(0, INPUTS_MAX).entries()) {
    sum += amount
    if (sum >= worth) return sorted.slice(0, at + 1)
  }
  return null
}

/**
 * Where coins are more than fit into one transaction: how much the largest that fit can surely send, base units. Null where all
 * of them fit.
 */
export function mostThatFits(coins: readonly Coin[], changeMin: bigint): bigint | null {
  if (coins.length <= INPUTS_MAX) return null
  return sumOf([...coins].sort(byAmount).slice(0, INPUTS_MAX)) - changeMin
}

function selectionOf<C extends Coin>(coins: readonly C[], change: bigint, rate: bigint): CoinSelection<C> {
  return { coins, change, fee: feeFor(vbytesOf(coins.length, change > 0n), rate) }
}

/** Largest first; coins of one amount in the order of their outpoints, so that one set of coins gives one choice. */
function byAmount(a: Coin, b: Coin): number {
  if (a.amount !== b.amount) return a.amount < b.amount ? 1 : -1
  if (a.txid !== b.txid) return a.txid < b.txid ? -1 : 1
  return a.outputIndex - b.outputIndex
}

/**
 * The fewest coins worth exactly `amount`, at most `most`, of those that a depth-first search finds that gives up after a bounded
 * number of steps.
 */
function branchAndBound<C extends Coin>(sorted: readonly C[], amount: bigint, most: number): C[] | null {
  const rest: bigint[] = new Array(sorted.length + 1).fill(0n)
  for (let at = sorted.length - 1; at >= 0; at--) rest[at] = (rest[at + 1] ?? 0n) + (sorted[at]?.amount ?? 0n)
  let best: C[] | null = null
  let allowed = most
  const chosen: number[] = []
  let sum = 0n
  let at = 0
  for (let attempts = 0; attempts < ATTEMPTS_MAX; attempts++) {
    if (sum === amount && chosen.length <= allowed) {
      best = chosen.flatMap((index) => sorted[index] ?? [])
      allowed = chosen.length - 1
    }
    // What the largest that are left, as many as are allowed, can add.
    const until = Math.min(at + allowed - chosen.length, sorted.length)
    const reach = sum + (rest[at] ?? 0n) - (rest[until] ?? 0n)
    if (until > at && sum < amount && reach >= amount) {
      sum += sorted[at]?.amount ?? 0n
      chosen.push(at)
      at += 1
      continue
    }
    const last = chosen.pop()
    if (last === undefined) return best
    const { amount: dropped } = sorted[last] ?? { amount: 0n }
    sum -= dropped
    // Another coin of the same amount in its place leads to the same sums.
    at = last + 1
    while (sorted[at]?.amount === dropped) at += 1
  }
  return best
}
