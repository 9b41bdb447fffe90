// @module-tag litecoind
import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import { type DrivenNode, utxoDriver } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'
import { describeUtxoPayments } from './utxo-payments.ts'
import { describeUtxoReorganisations } from './utxo-reorganisations.ts'

let watched: WatchedChain<DrivenNode>
beforeAll(async () => {
  watched = await WatchedChain.open(utxoDriver('litecoin'))
})
afterEach(() => watched.stopWatchers())
afterAll(() => watched.close())

describe('payments in Litecoin', () => describeUtxoPayments(() => watched))
describe('reorganisations of Litecoin', () => describeUtxoReorganisations(() => watched))
