import type { SolanaRpc } from '../../../chain/solana/solana-rpc.ts'
import { associatedTokenAccount } from '../../../chain/solana/token-accounts.ts'
import { mintRefusal, tokenHoldingOf } from '../../../chain/solana/token-state.ts'
import { ASSETS, type AssetId, isAssetId } from '../../../core/assets.ts'
import type { SolanaMint } from '../../../core/chain/solana-mints.ts'
import type { VaultToken } from '../../store/solana-token-sweeps.ts'

/** A token that payouts are made in. */
export type PayoutToken = SolanaMint & { readonly asset: AssetId }

export const isPayoutToken = (mint: SolanaMint): mint is PayoutToken => isAssetId(mint.asset)

/** As it is kept, and whether the vault has an account for it yet. */
export type ReadVaultToken = VaultToken & { readonly hasAccount: boolean }

/** What the vault holds of each token at a finalized slot, and whether its issuer lets it be moved. */
export async function readVaultTokens(
  rpc: SolanaRpc,
  tokens: readonly PayoutToken[],
  vault: string,
): Promise<ReadVaultToken[]> {
  if (tokens.length === 0) return []
  const names = tokens.flatMap((token) => [token.mint, associatedTokenAccount(vault, token)])
  const accounts = await rpc.accountsAt(names)
  return tokens.flatMap((token, at) => {
    const { asset, mint } = token
    const [minted, held] = [accounts[2 * at] ?? null, accounts[2 * at + 1] ?? null]
    if (minted === null) return []
    const holding = tokenHoldingOf(held, token)
    const stopped = mintRefusal(minted, { ...token, decimals: ASSETS[asset].decimals })
    const refusal = stopped ?? (holding?.isFrozen === true ? 'its issuer has frozen the vault' : null)
    return [{ asset, mint, amount: holding?.amount ?? 0n, refusal, hasAccount: held !== null }]
  })
}
