import { contractCall } from '../../../chain/evm/contract-call.ts'
import type { AssetId } from '../../../core/assets.ts'
import type { EvmPayoutChain } from './evm-broadcaster-parts.ts'

/** Why the token's contract would not move an amount from one address to another, in its words; null where it would. */
export const refusalOf = (
  chain: EvmPayoutChain,
  move: {
    readonly asset: AssetId
    readonly from: Uint8Array
    readonly to: Uint8Array
    readonly amount: bigint
  },
): Promise<string | null> =>
  chain.failureOf({
    asset: move.asset,
    from: move.from,
    data: contractCall('transfer(address,uint256)', move.to, move.amount),
  })

/**
 * Why the token's contract would let the hot wallet pay nobody, or not this destination; null where it would. An issuer
 * blocks addresses, and pauses a token. Of nothing, so that it is known before anything is swept.
 */
export async function tokenRefusal(
  chain: EvmPayoutChain,
  { asset, hot, to }: { readonly asset: AssetId; readonly hot: Uint8Array; readonly to: Uint8Array },
): Promise<'token_refuses' | 'destination_refuses' | null> {
  if ((await refusalOf(chain, { asset, from: hot, to, amount: 0n })) === null) return null
  const isStopped = (await refusalOf(chain, { asset, from: hot, to: hot, amount: 0n })) !== null
  return isStopped ? 'token_refuses' : 'destination_refuses'
}
