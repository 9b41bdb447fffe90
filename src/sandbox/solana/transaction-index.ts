import type { PlacedTransaction } from './chain-base.ts'

/** The transactions in blocks by their signatures, and by the addresses that they name. */
export class TransactionIndex {
  readonly #bySignature = new Map<string, PlacedTransaction>()
  readonly #byAddress = new Map<string, PlacedTransaction[]>()

  get(signature: string): PlacedTransaction | null {
    return this.#bySignature.get(signature) ?? null
  }

  /** Oldest first. */
  mentioning(owner: string): readonly PlacedTransaction[] {
    return this.#byAddress.get(owner) ?? []
  }

  add(placed: PlacedTransaction): void {
    this.#bySignature.set(placed.transaction.signature, placed)
    for (const pubkey of new Set(placed.accounts.map((account) => account.pubkey))) {
      const list = this.#byAddress.get(pubkey)
      if (list === undefined) this.#byAddress.set(pubkey, [placed])
      else list.push(placed)
    }
  }

  /** What is taken back is among the newest: it is looked for from the end, however much an address was named before. */
  remove(placed: PlacedTransaction): void {
    const { signature } = placed.transaction
    this.#bySignature.delete(signature)
    for (const pubkey of new Set(placed.accounts.map((account) => account.pubkey))) {
      const list = this.#byAddress.get(pubkey) ?? []
      const index = list.findLastIndex((each) => each.transaction.signature === signature)
      if (index >= 0) list.splice(index, 1)
      if (list.length === 0) this.#byAddress.delete(pubkey)
    }
  }
}
