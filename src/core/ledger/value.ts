import { COINS, type PaymentAsset } from '../assets.ts'
import { usdValueOf } from '../money.ts'

type Valued = {
  readonly asset: PaymentAsset
  readonly amount: bigint
  readonly usdCents: bigint | null
}

/**
 * Transfers of one asset and moment with what each was worth in US cents, rounded down: as one of them says, by its own
 * rate, else as the same money was worth earlier, else by the price of the moment (10⁻¹² US dollar per coin). Null stays
 * only where there is none of these.
 */
export function withValues<Transfer extends Valued>(
  transfers: readonly Transfer[],
  price: bigint | null,
  earlier: Valued | null = null,
): Transfer[] {
  const known = [...transfers, ...(earlier === null ? [] : [earlier])].find(
    ({ usdCents, amount }) => usdCents !== null && amount > 0n,
  )
  return transfers.map((transfer) => {
    if (transfer.usdCents !== null) return transfer
    const { asset, amount } = transfer
    if (known !== undefined && known.usdCents !== null)
      return { ...transfer, usdCents: (known.usdCents * amount) / known.amount }
    return price === null
      ? transfer
      : { ...transfer, usdCents: usdValueOf(amount, price, COINS[asset].decimals) }
  })
}
