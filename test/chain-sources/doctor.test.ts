// @module-tag litecoind
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { inspectNetworks } from '../../src/doctor/inspect-networks.ts'
import type { UtxoNode } from '../../src/nodes/chain-nodes.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { startEsploraServer } from '../support/esplora-server.ts'
import { startNode, type TestNode } from '../support/litecoind.ts'
import { startRpcProxy } from '../support/rpc-proxy.ts'
import { type DrivenNode, settingOf, utxoDriver } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

let watched: WatchedChain<DrivenNode>
let node: TestNode
let other: TestNode
beforeAll(async () => {
  watched = await WatchedChain.open(utxoDriver('litecoin'))
  node = watched.chain.node
  other = await node.copy()
  await watched.watchAtTip()
})
afterAll(async () => {
  await other.remove()
  await watched.close()
})
const closing: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

async function find(changes: Partial<UtxoNode> = {}): Promise<string[]> {
  const configured: UtxoNode = {
    network: 'litecoin-test',
    chain: 'litecoin',
    livemode: false,
    rpcUrl: node.rpcUrl,
    furtherUrls: [],
    rpcSetting: settingOf('litecoin'),
    zmqUrl: null,
    tokenContracts: {},
    sandbox: null,
    ...changes,
  }
  const findings = await inspectNetworks(watched.database.owner, [configured], systemClock)
  return findings.map(({ kind, text }) => `${kind}: ${text}`).filter((line) => line.includes('litecoin-test'))
}

/** The node behind a proxy that changes some of its answers. */
async function lying(method: string, lie: (result: object) => object): Promise<string> {
  const proxy = await startRpcProxy(node.rpcUrl)
  closing.push(() => proxy.close())
  proxy.lie(method, (result) => lie(result as object))
  return proxy.url
}

/** The node, made to say that it publishes all that is listened to. */
const publishing = () =>
  lying('getzmqnotifications', () =>
    ['pubsequence', 'pubrawtx', 'pubhashblock'].map((type) => ({ type, address: 'tcp://x' })),
  )

test("the doctor shows a node's version, chain, height, notifications and how far it was read", async () => {
  expect(await find({ rpcUrl: await publishing(), zmqUrl: 'tcp://x' })).toEqual([
    expect.stringMatching(
      /^ok: litecoin-test: the node at 127\.0\.0\.1:\d+ answers, chain regtest, height 110$/,
    ),
    expect.stringMatching(
      /^notice: .* is \/LitecoinCore:[\d.]+\/, which is too old .*: update it to 0\.21\.5\.8 or later/,
    ),
    expect.stringMatching(/^ok: .* publishes what is listened to on tcp:/),
    expect.stringMatching(/^ok: litecoin-test: read to block 110 of 110, \d+ s ago$/),
  ])
  const fresh = await lying('getnetworkinfo', () => ({
    version: 210_508,
    subversion: '/LitecoinCore:0.21.5.8/',
  }))
  expect(await find({ rpcUrl: fresh })).toContainEqual(
    expect.stringMatching(/^ok: .* is \/LitecoinCore:0\.21\.5\.8\/$/),
  )
})

test('the doctor misses notifications: none asked for, some, all of them, and those that are not heard', async () => {
  expect(await find()).toContainEqual(
    expect.stringMatching(/^notice: .* is asked in short intervals; it was built without ZeroMQ$/),
  )
  expect(await find({ zmqUrl: 'tcp://x' })).toContainEqual(
    expect.stringMatching(/^fault: .* TEST_LITECOIN_ZMQ_URL is set and the node was built without ZeroMQ/),
  )
  const one = await lying('getzmqnotifications', () => [{ type: 'pubrawtx', address: 'tcp://x' }])
  expect(await find({ rpcUrl: one, zmqUrl: 'tcp://x' })).toContainEqual(
    expect.stringMatching(
      /^notice: .* does not publish pubsequence, pubhashblock: start it with -zmqpubsequence=tcp:/,
    ),
  )
  const none = await lying('getzmqnotifications', () => [])
  expect(await find({ rpcUrl: none })).toContainEqual(
    expect.stringMatching(/^notice: .* with TEST_LITECOIN_ZMQ_URL it would push/),
  )
  expect(await find({ rpcUrl: none, zmqUrl: 'tcp://x' })).toContainEqual(
    expect.stringMatching(/^fault: .* TEST_LITECOIN_ZMQ_URL is set and the node publishes nothing/),
  )
  const { owner } = watched.database
  // A watcher writes what it hears itself.
  await watched.stopWatchers()
  await owner.query("update network_state set notifications_silent = 'nothing comes from tcp://x'")
  expect(await find({ rpcUrl: await publishing(), zmqUrl: 'tcp://x' })).toContainEqual(
    'fault: litecoin-test: nothing comes from tcp://x; correct TEST_LITECOIN_ZMQ_URL, or what stands between',
  )
  await watched.watchAtTip()
})

test('the doctor shows the first block that a pruned node keeps, and warns if it is too late', async () => {
  const keeping = (pruneheight: number) =>
    lying('getblockchaininfo', (state) => ({ ...state, pruned: true, pruneheight }))
  expect(await find({ rpcUrl: await keeping(50) })).toContainEqual(
    expect.stringMatching(/^notice: .* keeps its blocks from 50 on: Paylink must not stand still for longer/),
  )
  expect(await find({ rpcUrl: await keeping(5_000) })).toContainEqual(
    expect.stringMatching(
      /^fault: .* keeps its blocks from 5000 on, and those from 111 on were not read yet: use a node/,
    ),
  )
})

test('the doctor asks every further provider whether it agrees', async () => {
  const server = await startEsploraServer(other)
  closing.push(() => server.stop())
  const name = /the (node|Esplora server) at 127\.0\.0\.1:\d+ confirms block 110$/
  const agreeing = await find({ furtherUrls: [other.rpcUrl, server.url] })
  expect(agreeing.filter((line) => line.startsWith('ok') && name.test(line))).toHaveLength(2)
  await watched.database.owner.query(`update network_state set height = 111`)
  expect(await find({ furtherUrls: [other.rpcUrl] })).toContainEqual(
    expect.stringMatching(/^fault: .* has not come to block 111 yet: payments wait for it/),
  )
  await watched.database.owner.query(`update network_state set height = 109`)
  expect(await find({ furtherUrls: [other.rpcUrl] })).toContainEqual(
    expect.stringMatching(/^fault: .* has another block at height 109 than the watcher read/),
  )
  await watched.database.owner.query(`update network_state set height = 110`)
  await server.stop()
  closing.length = 0
  expect(await find({ furtherUrls: [server.url] })).toContainEqual(
    expect.stringMatching(/^fault: .* the Esplora server at .* refuses the connection: start it/),
  )
})

test('the doctor repeats what the watcher waits for', async () => {
  await watched.stopWatchers()
  await watched.database.owner.query(
    `update network_state set reason = 'payments in 1 block wait', read_at = now()`,
  )
  expect(await find()).toContainEqual(
    expect.stringMatching(/^fault: litecoin-test: read to block 110 of 110; payments in 1 block wait$/),
  )
})

test('the doctor says that a test network is pointed to another chain, and how to go back', async () => {
  const fresh = await startNode('litecoin', { blocks: 3 })
  closing.push(() => fresh.remove())
  expect(await find({ rpcUrl: fresh.rpcUrl })).toContainEqual(
    expect.stringMatching(
      /^notice: litecoin-test: it is another chain than the one read before: .* change TEST_LITECOIN_RPC_URL to what it was$/,
    ),
  )
  expect((await find()).filter((line) => line.includes('another chain'))).toEqual([])
})
