// @module-tag litecoind
import { utxoDriver } from '../support/utxo-driver.ts'
import { describeChainConformance } from './suite.ts'

describeChainConformance(utxoDriver('litecoin'))
