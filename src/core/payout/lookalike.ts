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
  const told = address.toLowerCase().replace(COMMON_START, '')
  return `${told.slice(0, ENDS)} ${told.slice(-ENDS)}`
}
