import { evmDriver } from '../support/evm-driver.ts'
import { describeChainConformance } from './suite.ts'

describeChainConformance(evmDriver('USDC_POLYGON'))
