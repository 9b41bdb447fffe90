import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { concurrently } from '../src/chain/concurrently.ts'
import { encodeAddress } from '../src/chain/utxo/address.ts'
import { RpcClient } from '../src/chain/utxo/rpc-client.ts'
import { UtxoAdapter } from '../src/chain/utxo/utxo-adapter.ts'
import type { BlockRef } from '../src/core/invoice/types.ts'
import { systemClock } from '../src/runtime/clock.ts'
import { startNode, type TestNode } from '../test/support/litecoind.ts'
import { startRpcProxy } from '../test/support/rpc-proxy.ts'
import { median, printFigure, spread } from './support/figure.ts'
import { numberOf } from './support/number-of.ts'

const BLOCKS = numberOf('CATCH_UP_BLOCKS', 10_000)
const BLOCKS_PER_STEP = 100
/** As many as the adapter asks for at a time. */
const BLOCKS_IN_FLIGHT = 6
const ROUNDS = 3
const COUNTED_BLOCKS = 20
const ADDRESS_COUNTS = [10, 10_000, 1_000_000]
const SETTING = 'TEST_BITCOIN_RPC_URL'

let node: TestNode
let start: BlockRef
const addresses: Buffer[] = []
const hashes: string[] = []
beforeAll(async () => {
  node = await startNode('bitcoin')
  const adapter = adapterAt(node.rpcUrl)
  await adapter.connect()
  start = await adapter.tip()
  await adapter.close()
  // Each block pays an address of its own, by its coinbase: no wallet slows the making of them.
  for (let count = 0; count < BLOCKS; count++) {
    const addressBytes = randomBytes(20)
    addresses.push(addressBytes)
    hashes.push(...(await node.mine(1, encodeAddress('bcrt', addressBytes))))
  }
})
afterAll(() => node.remove())

const adapterAt = (rpcUrl: string) =>
  new UtxoAdapter({
    chain: 'bitcoin',
    livemode: false,
    rpcUrl,
    rpcSetting: SETTING,
    zmqUrl: null,
    clock: systemClock,
  })

/** Blocks a second from the start to the tip, and what was found. */
async function follow(): Promise<number> {
  const adapter = adapterAt(node.rpcUrl)
  adapter.watched.add(addresses)
  await adapter.connect()
  let checkpoint = start
  let found = 0
  const before = performance.now()
  for (let step = 0; step <= BLOCKS / BLOCKS_PER_STEP; step++) {
    const update = await adapter.nextUpdate(checkpoint, BLOCKS_PER_STEP)
    if (update === null) break
    for (const { block, transfers } of update.blocks) {
      checkpoint = block
      found += transfers.length
    }
  }
  const seconds = (performance.now() - before) / 1_000
  await adapter.close()
  expect(found).toBe(BLOCKS)
  return BLOCKS / seconds
}

/** Blocks a second that the node gives out whose hashes are known, with nothing done to them. */
async function fetchOnly(): Promise<number> {
  const rpc = new RpcClient(node.rpcUrl, SETTING)
  const before = performance.now()
  await concurrently(hashes, BLOCKS_IN_FLIGHT, (hash) => rpc.callRaw('getblock', [hash, 0]))
  const seconds = (performance.now() - before) / 1_000
  await rpc.close()
  return BLOCKS / seconds
}

test('catching up keeps near to what the node can give', async () => {
  const rounds: { own: number; node: number }[] = []
  for (let round = 0; round < ROUNDS; round++) rounds.push({ own: await follow(), node: await fetchOnly() })
  const ratios = rounds.map((each) => each.own / each.node)
  printFigure({
    name: `Catching up over ${BLOCKS} blocks with a payment in each ÷ the node's own getblock rate`,
    target: '≥0.7',
    measured: median(ratios).toFixed(2),
    detail: `${spread(ratios)}; ${median(rounds.map(({ own }) => own)).toFixed(0)} blocks/s of ${median(rounds.map(({ node: rate }) => rate)).toFixed(0)}, without the books; fetching asks for one block a call`,
  })
})

test('a block costs two calls, however many addresses are watched', async () => {
  for (const count of ADDRESS_COUNTS) {
    const proxy = await startRpcProxy(node.rpcUrl)
    const adapter = adapterAt(proxy.url)
    for (let added = 0; added < count; added++) adapter.watched.add([randomBytes(20)])
    await adapter.connect()
    let checkpoint = await adapter.tip()
    const before = proxy.calls.length
    for (let block = 0; block < COUNTED_BLOCKS; block++) {
      await node.mine(1)
      const update = await adapter.nextUpdate(checkpoint, BLOCKS_PER_STEP)
      checkpoint = update?.blocks.at(-1)?.block ?? checkpoint
    }
    const calls = (proxy.calls.length - before) / COUNTED_BLOCKS
    await adapter.close()
    await proxy.close()
    printFigure({
      name: `Calls to the node for a block, ${count.toLocaleString('en')} addresses watched`,
      target: '2',
      measured: calls.toFixed(2),
    })
    expect(calls).toBe(2)
  }
})
