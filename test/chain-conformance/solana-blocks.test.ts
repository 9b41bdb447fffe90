import { solanaDriver } from '../support/solana-driver.ts'
import { describeChainConformance } from './suite.ts'

describeChainConformance(solanaDriver('blocks', 'SOL'))
