import type { SignedIntent } from './journal-lines.ts'

/** Of one merchant, in the wallet of one network and asset. */
export type CreditPlace = {
  readonly merchantId: string
  readonly network: string
  readonly asset: string
}

/** A sweep or payout, with its transactions, oldest first, of which one alone can happen. */
export type SignedMove = {
  readonly id: string
  /** Under which it was asked for: a sweep more than once where the database was set back in between. */
  readonly ids: readonly string[]
  readonly amount: bigint
  readonly txids: readonly string[]
}

type Place = { readonly sweeps: Map<string, Move>; readonly payouts: Map<string, Move> }
type Move = SignedMove & { readonly ids: string[]; readonly txids: string[] }

/**
 * What the signer signed into and out of the wallets that merchants share. It says what was signed for whom. What
 * happened on the chain is in outcomes.ts.
 */
export class SignedCredits {
  readonly #places = new Map<string, Place>()
  /** Which sweep has a transaction: under the name of two, it moves money once all the same. */
  readonly #sweptBy = new Map<string, string>()

  /** Adds a signature; the second and later ones of a sweep or payout are worth no more. */
  add(entry: {
    readonly payout_id: string
    readonly txid: string
    readonly network: string
    readonly intent?: SignedIntent | undefined
  }): void {
    const { intent, network, payout_id: id, txid } = entry
    if (intent === undefined) return
    const place = this.#at({ merchantId: intent.merchant_id, network, asset: intent.asset })
    if (intent.kind !== 'payout') {
      const name = `${network} ${txid}`
      const first = this.#sweptBy.get(name)
      if (first !== undefined && first !== id) {
        place.sweeps.get(first)?.ids.push(id)
        return
      }
      this.#sweptBy.set(name, id)
    }
    const moves = intent.kind === 'payout' ? place.payouts : place.sweeps
    const known = moves.get(id)
    if (known === undefined) moves.set(id, { id, ids: [id], amount: BigInt(intent.amount), txids: [txid] })
    else known.txids.push(txid)
  }

  at(place: CreditPlace): {
    readonly sweeps: readonly SignedMove[]
    readonly payouts: readonly SignedMove[]
  } {
    const { sweeps, payouts } = this.#at(place)
    return { sweeps: [...sweeps.values()], payouts: [...payouts.values()] }
  }

  #at({ merchantId, network, asset }: CreditPlace): Place {
    const key = `${network} ${asset} ${merchantId}`
    const known = this.#places.get(key) ?? { sweeps: new Map(), payouts: new Map() }
    this.#places.set(key, known)
    return known
  }
}
