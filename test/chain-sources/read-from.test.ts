import { expect, test } from 'vitest'
import type { ChainNode } from '../../src/nodes/chain-nodes.ts'
import { openProviders } from '../../src/nodes/open-providers.ts'

const node: ChainNode = {
  network: 'litecoin-live',
  chain: 'litecoin',
  livemode: true,
  rpcUrl: 'http://shop:secret@node.internal:9332/wallet/secret',
  furtherUrls: [],
  rpcSetting: 'LIVE_LITECOIN_RPC_URL',
  zmqUrl: null,
  tokenContracts: {},
  sandbox: null,
}
const deps = { clock: () => new Date(), openAddresses: async () => [] }

/** What buyers and merchants would be told of where the chain was read. */
async function readFrom(changes: Partial<ChainNode>): Promise<readonly string[]> {
  const opened = openProviders({ ...node, ...changes }, deps)
  const told = opened.readFrom()
  await opened.adapter.close()
  return told
}

test('a reading names its provider by the host alone: no port, no path, no credentials', async () => {
  expect(await readFrom({})).toEqual(['node.internal'])
  expect(await readFrom({ rpcUrl: 'esplora+https://u:p@chain.example/api?key=secret' })).toEqual([
    'chain.example',
  ])
})

test('of several providers a reading names the one that is followed', async () => {
  expect(await readFrom({ furtherUrls: ['http://u:p@second.internal:9332'] })).toEqual(['node.internal'])
})
