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
const TRIES_MAX = 20_000

/** Base units that so many virtual bytes cost, rounded up; `rate` is thousandths of a base unit for each. */
export const feeFor = (vbytes: number, rate: bigint): bigint => (BigInt(vbytes) * rate + 999n) / 1_000n

/** Virtual bytes of a transaction of this form, never less than it will have. */
export const vbytesOf = (inputs: number, hasChange: boolean): number =>
  OVERHEAD_VBYTES + inputs * INPUT_VBYTES + OUTPUT_VBYTES + (hasChange ? CHANGE_VBYTES : 0)

/**
 * Chooses coins for a payment of which the fee is part: inputs = `amount` + change, and the destination gets `amount` −
 * fee. Nothing is left to the miner beyond the fee, so that the ledger and the coins agree to the last unit: branch and
 * bound looks for coins worth exactly `amount`; else the largest first, until the rest is worth an output of change
 * (`changeMin`). Null where all coins together do not do, or more would be needed than fit.
 */
export function selectCoins<C extends Coin>(
  coins: readonly C[],
  amount: bigint,
  terms: { readonly rate: bigint; readonly changeMin: bigint },
): CoinSelection<C> | null {
  const sorted = [...coins].sort(byAmount)
  const exact = branchAndBound(sorted, amount)
  if (exact !== null) return selectionOf(exact, 0n, terms.rate)
  const chosen: C[] = []
  let sum = 0n
  for (const coin of sorted) {
    if (chosen.length === INPUTS_MAX) return null
    chosen.push(coin)
    sum += coin.amount
    if (sum - amount >= terms.changeMin) return selectionOf(chosen, sum - amount, terms.rate)
  }
  return null
}

/**
 * Where coins are more than fit into one transaction: how much the largest that fit can surely send, base units. Null where all
 * of them fit.
 */
export function mostThatFits(coins: readonly Coin[], changeMin: bigint): bigint | null {
  if (coins.length <= INPUTS_MAX) return null
  const largest = [...coins].sort(byAmount).slice(0, INPUTS_MAX)
  return largest.reduce((sum, { amount }) => sum + amount, -changeMin)
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

/** A set worth exactly `amount`, found by a depth-first search that gives up after a bounded number of steps. */
function branchAndBound<C extends Coin>(sorted: readonly C[], amount: bigint): C[] | null {
  const rest: bigint[] = new Array(sorted.length + 1).fill(0n)
  for (let at = sorted.length - 1; at >= 0; at--) rest[at] = (rest[at + 1] ?? 0n) + (sorted[at]?.amount ?? 0n)
  const chosen: number[] = []
  let sum = 0n
  let at = 0
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    if (sum === amount) return chosen.flatMap((index) => sorted[index] ?? [])
    const isDead = sum > amount || sum + (rest[at] ?? 0n) < amount || chosen.length >= INPUTS_MAX
    if (!isDead && at < sorted.length) {
      sum += sorted[at]?.amount ?? 0n
      chosen.push(at)
      at += 1
      continue
    }
    const last = chosen.pop()
    if (last === undefined) return null
    sum -= sorted[last]?.amount ?? 0n
    at = last + 1
  }
  return null
}
