import { ASSETS, type AssetId, isSweptByDelegation, isToken, nativeAssetOf } from '../../core/assets.ts'
import { isEvmChain } from '../../core/chain/evm-networks.ts'
import { inToken, tokenSweepCostOf, transferCostOf } from '../../core/payout/gas.ts'
import { TOKEN_SWEEP_COST } from '../../core/payout/solana-fee.ts'
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
  const { chain } = ASSETS[asset]
  if (!isToken(asset) || !isEvmChain(chain)) return transferCostOf(wallet)
  const gas = tokenSweepCostOf(wallet, { isDelegated: isSweptByDelegation(asset) })
  return worthInToken(db, { asset, livemode, native: nativeAssetOf(chain), amount: gas })
}

/** What sweeping an address on Solana takes of the fee payer's SOL, in base units of the token that lies there. By primary keys. */
export const loadTokenSweepCost = (
  db: Queryable,
  of: { readonly asset: AssetId; readonly livemode: boolean },
): Promise<bigint> => loadSolanaWorth(db, { ...of, amount: TOKEN_SWEEP_COST })

/** What lamports are worth in a token of Solana; nothing where either's worth is not known. By primary keys. */
export const loadSolanaWorth = (
  db: Queryable,
  of: { readonly asset: AssetId; readonly livemode: boolean; readonly amount: bigint },
): Promise<bigint> => worthInToken(db, { ...of, native: 'SOL' })

/** What so much of a chain's own coin is worth in a token; nothing where either's worth is not known. */
async function worthInToken(
  db: Queryable,
  of: {
    readonly asset: AssetId
    readonly livemode: boolean
    readonly native: AssetId
    readonly amount: bigint
  },
): Promise<bigint> {
  const { asset, livemode, native, amount } = of
  const [nativePrice, tokenPrice] = [
    await loadAssetPrice(db, native, livemode),
    await loadAssetPrice(db, asset, livemode),
  ]
  if (nativePrice === null || tokenPrice === null) return 0n
  return inToken(amount, {
    native: { price: nativePrice, decimals: ASSETS[native].decimals },
    token: { price: tokenPrice, decimals: ASSETS[asset].decimals },
  })
}
