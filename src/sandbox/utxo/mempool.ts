import { type ChainTransaction, outpointOf } from './chain-transaction.ts'

export type MempoolEntry = {
  readonly transaction: ChainTransaction
  /** Base units. */
  readonly fee: bigint
  readonly timeMs: number
  /** The tip's height when the transaction came in. */
  readonly height: number
}

/**
 * Transactions that wait for a block, parents always before their children. It holds what it is given: whether
 * a transaction may come in is decided by `accept-transaction`.
 */
export class Mempool {
  private entries = new Map<string, MempoolEntry>()
  /** Which transaction spends an outpoint. */
  private readonly spenders = new Map<string, string>()
  /** Transactions that the miner leaves alone, and with them all that descends from them. */
  private readonly held = new Set<string>()
  /** Counts every arrival and departure, as Bitcoin Core's `mempool_sequence` does. */
  sequence = 1

  get size(): number {
    return this.entries.size
  }

  get(txid: string): MempoolEntry | undefined {
    return this.entries.get(txid)
  }

  has(txid: string): boolean {
    return this.entries.has(txid)
  }

  txids(): string[] {
    return [...this.entries.keys()]
  }

  all(): Iterable<MempoolEntry> {
    return this.entries.values()
  }

  spenderOf(outpoint: string): string | undefined {
    return this.spenders.get(outpoint)
  }

  add(entry: MempoolEntry): void {
    const { txid, inputs } = entry.transaction
    this.entries.set(txid, entry)
    for (const input of inputs) this.spenders.set(outpointOf(input.txid, input.index), txid)
    this.sequence++
  }

  /** Puts transactions of a disconnected block before all others: what waits may spend their outputs. */
  addFirst(entries: readonly MempoolEntry[]): void {
    const others = this.entries
    this.entries = new Map()
    for (const entry of entries) this.add(entry)
    for (const [txid, entry] of others) this.entries.set(txid, entry)
  }

  /** Takes one transaction out; what spends its outputs stays. */
  remove(txid: string): void {
    const entry = this.entries.get(txid)
    if (entry === undefined) return
    this.entries.delete(txid)
    this.held.delete(txid)
    for (const input of entry.transaction.inputs) {
      const outpoint = outpointOf(input.txid, input.index)
      if (this.spenders.get(outpoint) === txid) this.spenders.delete(outpoint)
    }
    this.sequence++
  }

  /** Takes a transaction out and everything that depends on it. */
  removeWithDescendants(txid: string): void {
    for (const descendant of this.descendantsOf(txid)) this.remove(descendant)
  }

  /** The transaction and all that spend its outputs, directly or not. */
  descendantsOf(txid: string): string[] {
    const found = new Set([txid])
    for (const member of found) for (const child of this.childrenOf(member)) found.add(child)
    return [...found]
  }

  /** The transaction and all unconfirmed ones that it depends on. */
  ancestorsOf(txid: string): string[] {
    const found = new Set([txid])
    for (const member of found) for (const parent of this.parentsOf(member)) found.add(parent)
    return [...found]
  }

  childrenOf(txid: string): string[] {
    const outputs = this.entries.get(txid)?.transaction.outputs ?? []
    return [...new Set(outputs.flatMap((_, index) => this.spenders.get(outpointOf(txid, index)) ?? []))]
  }

  parentsOf(txid: string): string[] {
    const inputs = this.entries.get(txid)?.transaction.inputs ?? []
    return [...new Set(inputs.map((input) => input.txid).filter((parent) => this.entries.has(parent)))]
  }

  hold(txid: string): void {
    this.held.add(txid)
  }

  release(txid: string): void {
    this.held.delete(txid)
  }

  isHeld(txid: string): boolean {
    return this.held.has(txid)
  }

  /** What the next block takes: in order of arrival, without what is held and what depends on it. */
  minable(limits: { readonly transactions: number; readonly weight: number }): ChainTransaction[] {
    const taken: ChainTransaction[] = []
    const left = new Set<string>()
    let weight = 0
    for (const [txid, { transaction }] of this.entries) {
      const full = taken.length >= limits.transactions || weight + transaction.weight > limits.weight
      const blocked = this.held.has(txid) || transaction.inputs.some((input) => left.has(input.txid))
      if (full || blocked) {
        left.add(txid)
        continue
      }
      weight += transaction.weight
      taken.push(transaction)
    }
    return taken
  }
}
