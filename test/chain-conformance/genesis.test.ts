import { expect, test } from 'vitest'
import { UTXO_PARAMETERS } from '../../src/core/chain/utxo-parameters.ts'
import { NODE_PROGRAMS } from '../support/daemons.ts'
import { genesisHashOf } from '../support/litecoind.ts'

for (const { chain, name, genesisHash } of UTXO_PARAMETERS) {
  // A regtest in the place of live money's chain.
  if (name === 'staging') continue
  test(`${chain} ${name} has the genesis block that its node has`, {
    tags: [NODE_PROGRAMS[chain]],
  }, async () => {
    expect(await genesisHashOf(chain, name)).toBe(genesisHash)
  })
}
