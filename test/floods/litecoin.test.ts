// @module-tag litecoind
import { describeFlood } from './suite.ts'
import { utxoFlood } from './utxo-flood.ts'

describeFlood(utxoFlood('litecoin'))
