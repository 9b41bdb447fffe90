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

  remove(placed: PlacedTransaction): void {
    const { signature } = placed.transaction
    this.#bySignature.delete(signature)
    for (const pubkey of new Set(placed.accounts.map((account) => account.pubkey))) {
      const rest = this.mentioning(pubkey).filter((each) => each.transaction.signature !== signature)
      if (rest.length === 0) this.#byAddress.delete(pubkey)
      else this.#byAddress.set(pubkey, rest)
    }
  }
}
