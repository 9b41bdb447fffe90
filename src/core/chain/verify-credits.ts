/** A credit as one reading of a block has it. */
export type Credit = {
  /** Hex of the address. */
  readonly addressBytes: string
  readonly txid: string
  /** Base units. */
  readonly amount: bigint
}

/**
 * Of the credits that are claimed of a block, those that another reading of it does not bear out. What has the same
 * transaction and amount is found. Of the rest an address's sum counts: a node that does not trace cannot tell which
 * transaction a contract paid in.
 */
export function unverifiedIn<Claim extends Credit>(
  claims: readonly Claim[],
  found: readonly Credit[],
): Claim[] {
  const open = [...found]
  const rest = claims.filter((claim) => {
    const place = open.findIndex((credit) => isSame(claim, credit))
    if (place === -1) return true
    open.splice(place, 1)
    return false
  })
  const left = new Map<string, bigint>()
  for (const { addressBytes, amount } of open) left.set(addressBytes, (left.get(addressBytes) ?? 0n) + amount)
  return rest.filter(({ addressBytes, amount }) => {
    const sum = left.get(addressBytes) ?? 0n
    if (amount > sum) return true
    left.set(addressBytes, sum - amount)
    return false
  })
}

const isSame = (one: Credit, other: Credit): boolean =>
  one.addressBytes === other.addressBytes && one.txid === other.txid && one.amount === other.amount
