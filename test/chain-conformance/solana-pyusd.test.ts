import { solanaDriver } from '../support/solana-driver.ts'
import { describeChainConformance } from './suite.ts'

/** Of the Token Extensions program, whose accounts differ the most from what holds SOL. */
describeChainConformance(solanaDriver('accounts', 'PYUSD_SOLANA'))
