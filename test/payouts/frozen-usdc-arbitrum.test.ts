import { describeFrozenToken } from '../support/frozen-token-suite.ts'

describeFrozenToken('arbitrum', 'USDC_ARBITRUM')
