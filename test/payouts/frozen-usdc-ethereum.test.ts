import { describeFrozenToken } from '../support/frozen-token-suite.ts'

describeFrozenToken('ethereum', 'USDC_ETHEREUM')
