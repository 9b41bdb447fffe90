import type { AssetId, Network } from '../core/assets.ts'
import { isLowOnGas } from '../core/payout/gas.ts'
import type { Queryable } from './pool.ts'
import { hasTokenMoney, loadHotWallet, sumHotObligations } from './queries/hot-wallets.ts'

/** How a hot wallet stands with the gas that it pays for others. */
export type GasStanding = {
  readonly network: Network
  /** 20 bytes. */
  readonly address: Buffer
  /** Its ether that is no merchant's, wei. */
  readonly own: bigint
  readonly isLow: boolean
  /** Whether there is USDC whose sweeps and payouts it has to pay for. */
  readonly isNeeded: boolean
}

/** Networks on which a hot wallet pays gas for a token, and the coin it pays in. */
export const GAS_PAID: readonly {
  readonly network: Network
  readonly native: AssetId
  readonly token: AssetId
}[] = [
  { network: 'base-live', native: 'ETH_BASE', token: 'USDC_BASE' },
  { network: 'base-test', native: 'ETH_BASE', token: 'USDC_BASE' },
]

/** How a network's hot wallet stands with gas; null where it pays for none, or nobody has read it yet. */
export async function readGasStanding(db: Queryable, network: Network): Promise<GasStanding | null> {
  const paid = GAS_PAID.find((each) => each.network === network)
  const wallet = paid === undefined ? null : await loadHotWallet(db, network)
  if (paid === undefined || wallet === null) return null
  const owed = await sumHotObligations(db, { network, asset: paid.native, headNonce: wallet.nonce })
  const own = wallet.balance - owed
  const isNeeded = await hasTokenMoney(db, paid.token, network.endsWith('-live'))
  return { network, address: wallet.address, own, isLow: isLowOnGas(own, wallet), isNeeded }
}
