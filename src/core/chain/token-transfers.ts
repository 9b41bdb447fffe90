import type { Chain } from '../assets.ts'
import { evmNetworkOf, isEvmChain } from './evm-networks.ts'
import type { TokenTransfer } from './evm-registry.ts'

/**
 * An invoice's address has no token account yet: whoever pays first pays some 0.002 SOL for it, 40 cents where SOL is at 200
 * dollars (solana.com/docs/tokens, rent). Finalized are blocks some 13 seconds old (docs/long-runs.md).
 */
const ON_SOLANA: TokenTransfer = { feeCents: 40, finalSeconds: 13 }

/** What a buyer may expect of paying a token on this chain; null where nobody has looked. */
export function tokenTransferOn(chain: Chain): TokenTransfer | null {
  if (chain === 'solana') return ON_SOLANA
  return isEvmChain(chain) ? (evmNetworkOf(chain).tokenTransfer ?? null) : null
}
