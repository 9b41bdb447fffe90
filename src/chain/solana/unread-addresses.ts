/** A list that is not whole for longer than these, a minute, is not only late. */
export const LATE_SLOTS = 150

type Unread = {
  readonly why: 'too long to read' | 'not whole'
  readonly slot: number
  readonly triedSlot: number
}

/** Addresses that were passed over since their lists do not tell what came there: it is found only where blocks are read. */
export class UnreadAddresses {
  readonly #unread = new Map<string, Unread>()
  #slot = 0

  get notice(): string | null {
    const listed = [...this.#unread].filter(
      ([, { why, slot }]) => why === 'too long to read' || this.#slot - slot >= LATE_SLOTS,
    )
    const [first] = listed
    if (first === undefined) return null
    const [account, { why }] = first
    const which = listed.length === 1 ? `address ${account}` : `${listed.length} addresses, as ${account},`
    return `the node's list of transactions of ${which} is ${why}: what came there is found by paylink rescan`
  }

  /** `why` is null where the list was read. */
  record(account: string, why: Unread['why'] | null, slot: number): void {
    this.#slot = Math.max(this.#slot, slot)
    const before = this.#unread.get(account)
    if (why === null) this.#unread.delete(account)
    else this.#unread.set(account, { why, slot: before?.why === why ? before.slot : slot, triedSlot: slot })
  }

  has(account: string): boolean {
    return this.#unread.has(account)
  }

  /** Those of these accounts whose lists are too long, but for the one that was tried longest ago: each try is several calls. */
  passedOver(accounts: readonly string[]): ReadonlySet<string> {
    const long = accounts.filter((account) => this.#unread.get(account)?.why === 'too long to read')
    const [turn] = leastRecent(long, {
      kindOf: () => null,
      slotOf: (account) => this.#unread.get(account)?.triedSlot,
    })
    return new Set(long.filter((account) => account !== turn))
  }

  /** Whether its list has not been whole for longer than one is late. */
  isLongLate(account: string, slot: number): boolean {
    const unread = this.#unread.get(account)
    return unread?.why === 'not whole' && slot - unread.slot >= LATE_SLOTS
  }

  clear(): void {
    this.#unread.clear()
  }
}

/** Of each kind the one whose slot is lowest; what has none is passed over. */
export function leastRecent<One>(
  all: readonly One[],
  by: { readonly kindOf: (one: One) => unknown; readonly slotOf: (one: One) => number | undefined },
): One[] {
  const lowest = new Map<unknown, { readonly one: One; readonly slot: number }>()
  for (const one of all) {
    const slot = by.slotOf(one)
    const kind = by.kindOf(one)
    if (slot !== undefined && slot < (lowest.get(kind)?.slot ?? Number.POSITIVE_INFINITY))
      lowest.set(kind, { one, slot })
  }
  return [...lowest.values()].map(({ one }) => one)
}
