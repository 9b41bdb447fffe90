// @module-tag litecoind
import { afterAll, afterEach, beforeAll, describe } from 'vitest'
import { type DrivenNode, utxoDriver } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'
import { describeUtxoNodes } from './utxo-nodes.ts'

/**
 * On a chain of its own: after all the other hard cases it would stand at block 432, where MWEB begins on regtest
 * and no block can be mined without a peg-in before it.
 */
let watched: WatchedChain<DrivenNode>
beforeAll(async () => {
  watched = await WatchedChain.open(utxoDriver('litecoin'))
})
afterEach(() => watched.stopWatchers())
afterAll(() => watched.close())

describe('nodes of Litecoin', () => describeUtxoNodes(() => watched))
