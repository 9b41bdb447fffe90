import type { SignedIntent } from './journal-lines.ts'

/** Of one merchant, in the wallet of one network and asset. */
export type CreditPlace = {
  readonly merchantId: string
  readonly network: string
  readonly asset: string
}

/** What the database says of signatures, by the ids of what they are for. It can only lower what was signed in. */
export type CreditExceptions = {
  /** Sweeps that are in no block: they brought nothing. */
  readonly unlanded: readonly string[]
  /** Payouts that can never happen: they took nothing. */
  readonly failed: readonly string[]
}

type Place = { total: bigint; readonly sweeps: Map<string, bigint>; readonly payouts: Map<string, bigint> }

/**
 * What each merchant may be paid from a wallet that merchants share, by the signer's own signatures: the deposits that it
 * swept there for the merchant, less the payouts that it signed for the merchant. Rows that somebody wrote into the
 * database add nothing to it. Sums run along as signatures are made.
 */
export class SignedCredits {
  readonly #places = new Map<string, Place>()

  /** Counts a signature; the second and later ones of a sweep or payout count no more. */
  add(entry: {
    readonly payout_id: string
    readonly network: string
    readonly intent?: SignedIntent | undefined
  }): void {
    const { intent, network, payout_id: id } = entry
    if (intent === undefined) return
    const place = this.#at({ merchantId: intent.merchant_id, network, asset: intent.asset })
    const amount = BigInt(intent.amount)
    const [signed, signedAmount] =
      intent.kind === 'payout' ? [place.payouts, -amount] : [place.sweeps, amount]
    if (signed.has(id)) return
    signed.set(id, amount)
    place.total += signedAmount
  }

  of(of: CreditPlace, { unlanded, failed }: CreditExceptions): bigint {
    const { total, sweeps, payouts } = this.#at(of)
    return total - sumOf(sweeps, unlanded) + sumOf(payouts, failed)
  }

  #at({ merchantId, network, asset }: CreditPlace): Place {
    const key = `${network} ${asset} ${merchantId}`
    const known = this.#places.get(key) ?? { total: 0n, sweeps: new Map(), payouts: new Map() }
    this.#places.set(key, known)
    return known
  }
}

const sumOf = (amounts: ReadonlyMap<string, bigint>, ids: readonly string[]): bigint =>
  [...new Set(ids)].reduce((sum, id) => sum + (amounts.get(id) ?? 0n), 0n)
