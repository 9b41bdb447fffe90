/** A credit as one reading of a block has it. */
export type Credit = {
  /** Hex of the address. */
  readonly program: string
  readonly txid: string
  /** Base units. */
  readonly amount: bigint
}

/**
 * Of the credits that are claimed of a block, those that another reading of it does not bear out. What has the same
 * transaction and amount is found. Of the rest an address's sum counts: a node that does not trace cannot tell which
 * transaction a contract paid in.
 */
export function unfoundIn<Claim extends Credit>(claims: readonly Claim[], found: readonly Credit[]): Claim[] {
  const open = [...found]
  const rest = claims.filter((claim) => {
    const place = open.findIndex((credit) => isSame(claim, credit))
    if (place === -1) return true
    open.splice(place, 1)
    return false
  })
  const left = new Map<string, bigint>()
  for (const { program, amount } of open) left.set(program, (left.get(program) ?? 0n) + amount)
  return rest.filter(({ program, amount }) => {
    const sum = left.get(program) ?? 0n
    if (amount > sum) return true
    left.set(program, sum - amount)
    return false
  })
}

const isSame = (one: Credit, other: Credit): boolean =>
  one.program === other.program && one.txid === other.txid && one.amount === other.amount
