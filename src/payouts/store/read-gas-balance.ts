import { type AssetId, type Network, nativeAssetOf, tokensOf } from '../../core/assets.ts'
import { EVM_CHAINS } from '../../core/chain/evm-networks.ts'
import { isLowOnGas } from '../../core/payout/gas.ts'
import { hasTokenMoney, loadHotWallet, sumHotObligations } from '../../db/addresses/hot-wallets.ts'
import type { Queryable } from '../../postgres/pool.ts'

/** A hot wallet's balance: ether for the gas that it pays for others, and what merchants have in it. */
export type GasBalance = {
  readonly network: Network
  /** 20 bytes. */
  readonly address: Buffer
  /** In what its gas is paid. */
  readonly native: AssetId
  /** Its ether that is no merchant's, wei. Below 0 it lacks what payouts that failed have cost it. */
  readonly own: bigint
  readonly isLow: boolean
  /** Whether payouts wait for more: of tokens, whose gas it has to pay, or of the ether that it lacks. */
  readonly isNeeded: boolean
}

/** Networks with a hot wallet, the coin it pays gas in, and the tokens whose gas it pays. */
export const HOT_WALLETS: readonly {
  readonly network: Network
  readonly native: AssetId
  readonly tokens: readonly AssetId[]
}[] = EVM_CHAINS.flatMap((chain) =>
  (['live', 'test'] as const).map((mode) => ({
    network: `${chain}-${mode}` as const,
    native: nativeAssetOf(chain),
    tokens: tokensOf(chain),
  })),
)

/** The ether of a network's hot wallet; null if there is no wallet, or it was not read yet. */
export async function readGasBalance(db: Queryable, network: Network): Promise<GasBalance | null> {
  const of = HOT_WALLETS.find((each) => each.network === network)
  const wallet = of === undefined ? null : await loadHotWallet(db, network)
  if (of === undefined || wallet === null) return null
  const { native: asset, tokens } = of
  const own = wallet.balance - (await sumHotObligations(db, { network, asset, headNonce: wallet.nonce }))
  const { address } = wallet
  if (own < 0n || tokens.length === 0)
    return { network, address, native: asset, own, isLow: own < 0n, isNeeded: own < 0n }
  const isNeeded = await hasTokenMoney(db, tokens, network.endsWith('-live'))
  return { network, address, native: asset, own, isLow: isLowOnGas(own, wallet), isNeeded }
}
