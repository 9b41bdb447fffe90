// @module-tag bitcoind
import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import { type DrivenNode, utxoDriver } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'
import { describeUtxoNodes } from './utxo-nodes.ts'
import { describeUtxoPayments } from './utxo-payments.ts'
import { describeUtxoReorganisations } from './utxo-reorganisations.ts'

let watched: WatchedChain<DrivenNode>
beforeAll(async () => {
  watched = await WatchedChain.open(utxoDriver('bitcoin'))
})
afterEach(() => watched.stopWatchers())
afterAll(() => watched.close())

describe('payments in Bitcoin', () => describeUtxoPayments(() => watched))
describe('reorganisations of Bitcoin', () => describeUtxoReorganisations(() => watched))
describe('nodes of Bitcoin', () => describeUtxoNodes(() => watched))
