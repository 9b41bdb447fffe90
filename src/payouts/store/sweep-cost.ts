import { ASSETS, type AssetId, isSweptByDelegation, isToken, nativeAssetOf } from '../../core/assets.ts'
import { isEvmChain } from '../../core/chain/evm-networks.ts'
import { inToken, tokenSweepCostOf, transferCostOf } from '../../core/payout/gas.ts'
import type { HotWallet } from '../../db/addresses/hot-wallets.ts'
import { loadAssetPrice } from '../../db/invoices/asset-prices.ts'
import type { Queryable } from '../../postgres/pool.ts'

/**
 * What a sweep takes, in base units of its asset: of its amount where that is native coin, of the hot wallet's own ether
 * where it is a token. Nothing where a token's worth is not known. By primary keys.
 */
export async function loadSweepCost(
  db: Queryable,
  of: { readonly asset: AssetId; readonly livemode: boolean; readonly wallet: HotWallet },
): Promise<bigint> {
  const { asset, livemode, wallet } = of
  const { chain, decimals } = ASSETS[asset]
  if (!isToken(asset) || !isEvmChain(chain)) return transferCostOf(wallet)
  const native = ASSETS[nativeAssetOf(chain)]
  const [nativePrice, tokenPrice] = [
    await loadAssetPrice(db, native.id, livemode),
    await loadAssetPrice(db, asset, livemode),
  ]
  if (nativePrice === null || tokenPrice === null) return 0n
  return inToken(tokenSweepCostOf(wallet, { isDelegated: isSweptByDelegation(asset) }), {
    native: { price: nativePrice, decimals: native.decimals },
    token: { price: tokenPrice, decimals },
  })
}
