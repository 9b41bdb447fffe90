import { expect, test } from 'vitest'
import { UTXO_PARAMETERS } from '../../src/core/chain/utxo-parameters.ts'
import { genesisHashOf } from '../support/litecoind.ts'

test.each(UTXO_PARAMETERS)('$chain $name has the genesis block that its node has', async (parameters) => {
  expect(await genesisHashOf(parameters.chain, parameters.name)).toBe(parameters.genesisHash)
})
