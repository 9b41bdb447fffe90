import { ASSETS, type AssetId, networkOf } from '../core/assets.ts'
import { PAYOUT_OUTPUT_MIN } from '../core/payout/payout-limits.ts'
import { feeFor, INPUTS_MAX, selectCoins, vbytesOf } from '../core/payout/select-coins.ts'
import { listSpendableCoins, loadNetworkFee } from './queries/payout-coins.ts'
import type { Tenant, Tx } from './transaction.ts'

/** What a network takes is known for this long; a network that is followed tells it every minute. */
const FEE_KNOWN_MS = 3_600_000

type Wanted = { readonly asset: AssetId; readonly amount: bigint; readonly now: Date }

/** What the network would take for a payout now, in units of its asset; null where nobody knows. */
export function estimatePayoutFee(tx: Tx, tenant: Tenant, wanted: Wanted): Promise<bigint | null> {
  const { keyFamily } = ASSETS[wanted.asset]
  switch (keyFamily) {
    case 'bitcoin':
    case 'litecoin':
      return estimateOverCoins(tx, tenant, wanted)
    case 'evm':
    case 'solana':
      return Promise.resolve(null)
  }
}

async function estimateOverCoins(
  tx: Tx,
  tenant: Tenant,
  { asset, amount, now }: Wanted,
): Promise<bigint | null> {
  const network = networkOf(asset, tenant.livemode)
  const changeMin = PAYOUT_OUTPUT_MIN[asset]
  if (changeMin === undefined) return null
  const fee = await loadNetworkFee(tx, network)
  if (fee === null || now.getTime() - fee.updatedAt.getTime() > FEE_KNOWN_MS) return null
  const coins = await listSpendableCoins(tx, tenant, network)
  const selection = selectCoins(coins, amount, { rate: fee.rate, changeMin })
  if (selection !== null) return selection.fee
  // Some coins are on their way back from another payout: all that are left, and one of those.
  return feeFor(vbytesOf(Math.min(coins.length + 1, INPUTS_MAX), true), fee.rate)
}
