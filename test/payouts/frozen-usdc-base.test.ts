import { describeFrozenToken } from '../support/frozen-token-suite.ts'

describeFrozenToken('base', 'USDC_BASE')
