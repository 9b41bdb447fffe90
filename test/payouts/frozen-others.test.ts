import { tokensOf } from '../../src/core/assets.ts'
import { EVM_CHAINS } from '../../src/core/chain/evm-networks.ts'
import type { EvmAsset } from '../support/evm-payout-world.ts'
import { describeFrozenToken } from '../support/frozen-token-suite.ts'

/** Each has a file of its own. */
const IN_FULL: readonly EvmAsset[] = ['USDC_ETHEREUM', 'USDC_BASE', 'USDC_ARBITRUM']
const FORM = process.env.LONG === '1' ? 'full' : 'short'

for (const chain of EVM_CHAINS)
  for (const token of tokensOf(chain) as readonly EvmAsset[])
    if (!IN_FULL.includes(token)) describeFrozenToken(chain, token, FORM)
