/**
 * One price out of what several exchanges said. Agreement is the guard: one exchange that lies, or that answers
 * with an old price, is outvoted, and where no two agree there is no price at all.
 */

/** What one exchange said. */
export type Observation = {
  readonly source: string
  /** 10⁻¹² US dollar per coin. */
  readonly price: bigint
  /** When its answer arrived, by our clock. */
  readonly receivedAtMs: number
  /** The time the exchange itself gave for the price, where it gives one. */
  readonly exchangeTimeMs: number | null
}

export type AgreedPrice =
  | { readonly kind: 'agreed'; readonly price: bigint; readonly used: readonly Observation[] }
  | { readonly kind: 'unavailable'; readonly reason: string }

/** The oldest a price may be, by our clock and by the exchange's own. */
export const PRICE_AGE_MS_MAX = 60_000
/** How many exchanges must agree. */
const AGREEING_SOURCES_MIN = 2
/** How far a price may lie from the median: one hundredth of it. */
const DEVIATION_DIVISOR = 100n

/**
 * The median of at least two fresh prices, each within 1% of it. Prices further off are dropped and the median
 * of the rest is taken.
 */
export function agreePrice(observations: readonly Observation[], nowMs: number): AgreedPrice {
  const fresh = observations.filter((observation) => isFresh(observation, nowMs) && observation.price > 0n)
  if (fresh.length < AGREEING_SOURCES_MIN) {
    return {
      kind: 'unavailable',
      reason: `${fresh.length} of ${observations.length} exchanges have a fresh price`,
    }
  }
  const middle = median(fresh.map((observation) => observation.price))
  const used = fresh.filter((observation) => isNear(observation.price, middle))
  if (used.length < AGREEING_SOURCES_MIN) {
    return { kind: 'unavailable', reason: 'the exchanges disagree by more than 1%' }
  }
  return { kind: 'agreed', price: median(used.map((observation) => observation.price)), used }
}

/**
 * Whether a price is young enough. A time ahead of our clock by more than the limit is as bad as one behind it:
 * one of the two clocks is wrong, and the age is unknown.
 */
export function isFresh(observation: Observation, nowMs: number): boolean {
  const isYoung = (atMs: number) => Math.abs(nowMs - atMs) <= PRICE_AGE_MS_MAX
  return (
    isYoung(observation.receivedAtMs) &&
    (observation.exchangeTimeMs === null || isYoung(observation.exchangeTimeMs))
  )
}

/** The middle one, or the mean of the two in the middle, rounded down: towards more coin for the merchant. */
export function median(prices: readonly bigint[]): bigint {
  const sorted = [...prices].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.floor((sorted.length - 1) / 2)]
  if (upper === undefined || lower === undefined) throw new Error('the median of no prices was asked for')
  return (lower + upper) / 2n
}

function isNear(price: bigint, middle: bigint): boolean {
  const distance = price > middle ? price - middle : middle - price
  return distance * DEVIATION_DIVISOR <= middle
}
