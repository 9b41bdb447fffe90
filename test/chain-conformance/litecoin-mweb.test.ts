import { afterAll, beforeAll, expect, test } from 'vitest'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { systemClock } from '../../src/clock.ts'
import { startNode, type TestNode } from '../support/litecoind.ts'

/** The last block before regtest's extension block begins. */
const BEFORE_MWEB = 431

let node: TestNode
let adapter: UtxoAdapter
beforeAll(async () => {
  node = await startNode('litecoin', { blocks: BEFORE_MWEB })
  adapter = new UtxoAdapter({
    chain: 'litecoin',
    livemode: false,
    rpcUrl: node.rpcUrl,
    rpcSetting: 'TEST_LITECOIN_RPC_URL',
    zmqUrl: null,
    clock: systemClock,
  })
  await adapter.connect()
})
afterAll(async () => {
  await adapter.close()
  await node.remove()
})

test('blocks with an extension block are read, and a peg-out to a watched address waits for six confirmations', async () => {
  const hidden = await node.rpc<string>('getnewaddress', ['', 'mweb'])
  await node.pay(hidden, '10')
  const beforePegIn = await adapter.tip()
  // A peg-in carries extension data while it is in the mempool.
  expect(await adapter.readMempool()).toMatchObject({ transfers: [] })
  await node.mine(2)
  const pegIn = await adapter.nextUpdate(beforePegIn, 10)
  expect(pegIn?.blocks).toHaveLength(2)

  const address = await node.newAddress()
  const program = await node.programOf(address)
  adapter.watched.add([program])
  const unspent = await node.rpc<{ txid: string; vout?: number; address: string }[]>('listunspent')
  const transparent = unspent.filter((coin) => coin.address.startsWith('rltc'))
  await node.rpc('lockunspent', [false, transparent.map(({ txid, vout }) => ({ txid, vout }))])
  const sent = await node.pay(address, '5')
  // Nothing in the mempool pays the address: the peg-out is made when the block is.
  expect(await adapter.readMempool()).toMatchObject({ transfers: [] })
  const checkpoint = await adapter.tip()
  await node.mine(1)
  const update = await adapter.nextUpdate(checkpoint, 10)
  const transfers = update?.blocks.flatMap((block) => block.transfers) ?? []
  expect(transfers).toMatchObject([
    { program: program.toString('hex'), amount: 500_000_000n, minimumConfirmations: 6 },
  ])
  expect(transfers[0]?.txid).not.toBe(sent)
  expect(transfers[0]?.outputIndex).toBeGreaterThan(0)
})
