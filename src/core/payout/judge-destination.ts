import { COOL_OFF_MS } from './payout-limits.ts'

/** Characters at each end of an address that people compare; wallets show four to six. */
const ENDS = 4
/** The prefix that all addresses of a kind share does not help to tell them apart. */
const COMMON_START = /^(?:(?:bcrt|bc|tb|rltc|tltc|ltc)1[a-z0-9]|0x|[123mnlq])/

/**
 * The first of the `used` addresses that `address` looks like without being it: the same characters at both ends,
 * which is how address poisoning works. Null where it looks like none.
 */
export function lookalikeOf(address: string, used: readonly string[]): string | null {
  const ends = endsOf(address)
  return used.find((other) => other !== address && endsOf(other) === ends) ?? null
}

/** In lower case: people do not compare case. */
function endsOf(address: string): string {
  const characteristic = address.toLowerCase().replace(COMMON_START, '')
  return `${characteristic.slice(0, ENDS)} ${characteristic.slice(-ENDS)}`
}

/** Addresses on one list, in one mode. */
export const DESTINATIONS_MAX = 100
/** Addresses, removed ones included, that a new one is compared with. */
export const COMPARED_MAX = 10_000

type DestinationJudgement =
  | { readonly kind: 'lookalike'; readonly of: string }
  | { readonly kind: 'too_many' }
  | { readonly kind: 'good'; readonly usableAt: Date }

/**
 * Whether an address may be added to a list, and from when on it may be paid. `used` are all addresses of its family
 * that were ever on the list: an address that merely looks like one of them was made to be mistaken for it.
 */
export function judgeDestination(
  address: string,
  list: { readonly used: readonly string[]; readonly listed: number; readonly livemode: boolean },
  now: Date,
): DestinationJudgement {
  const of = lookalikeOf(address, list.used)
  if (of !== null) return { kind: 'lookalike', of }
  if (list.listed >= DESTINATIONS_MAX) return { kind: 'too_many' }
  return { kind: 'good', usableAt: list.livemode ? new Date(now.getTime() + COOL_OFF_MS) : now }
}
