// @module-tag bitcoind
import { utxoDriver } from '../support/utxo-driver.ts'
import { describeChainConformance } from './suite.ts'

describeChainConformance(utxoDriver('bitcoin'))
