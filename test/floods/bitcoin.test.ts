// @module-tag bitcoind
import { describeFlood } from './suite.ts'
import { utxoFlood } from './utxo-flood.ts'

describeFlood(utxoFlood('bitcoin'))
