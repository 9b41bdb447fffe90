// @module-tag litecoind
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ChainHalted, ChainSyncing, ChainUnavailable } from '../../src/chain/adapter.ts'
import { ChainWalk } from '../../src/chain/utxo/chain-walk.ts'
import { EsploraAdapter } from '../../src/chain/utxo/esplora-adapter.ts'
import { EsploraChain } from '../../src/chain/utxo/esplora-chain.ts'
import { EsploraClient } from '../../src/chain/utxo/esplora-client.ts'
import { utxoParametersOf } from '../../src/core/chain/utxo-parameters.ts'
import type { BlockRef } from '../../src/core/invoice/types.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { type EsploraServer, startEsploraServer } from '../support/esplora-server.ts'
import { inventBlock, serveInvented } from '../support/invented-block.ts'
import { startNode, type TestNode } from '../support/litecoind.ts'

const BLOCKS_MAX = 50

let node: TestNode
let server: EsploraServer
let adapter: EsploraAdapter
let checkpoint: BlockRef
let address: string
let open: Buffer[]
beforeAll(async () => {
  node = await startNode('litecoin')
  server = await startEsploraServer(node)
})
afterAll(async () => {
  await server.stop()
  await node.remove()
})

const adapterWith = (changes: Partial<ConstructorParameters<typeof EsploraAdapter>[0]> = {}) =>
  new EsploraAdapter({
    chain: 'litecoin',
    livemode: false,
    url: server.url,
    setting: 'TEST_LITECOIN_RPC_URL',
    clock: systemClock,
    openAddresses: async () => open,
    ...changes,
  })

/** A connected adapter at the tip, with one open checkout. */
beforeEach(async () => {
  adapter = adapterWith()
  address = await node.newAddress()
  open = [await node.addressBytesOf(address)]
  adapter.watched.add(open)
  await adapter.connect()
  checkpoint = await adapter.tip()
})
afterEach(async () => {
  server.tellTheTruth()
  await adapter.close()
})

const next = (from = checkpoint) => adapter.nextUpdate(from, BLOCKS_MAX)
const found = async () =>
  (await next())?.blocks.flatMap(({ transfers }) => transfers.map((transfer) => transfer.txid))
const waiting = async () => (await adapter.readMempool())?.transfers.map(({ txid }) => txid)

test('a new block costs two calls: the hash of the tip and the bytes', async () => {
  const txid = await node.pay(address, '1')
  const [hash] = await node.mine(1)
  server.calls.length = 0
  expect(await found()).toEqual([txid])
  expect(server.calls).toEqual(['/blocks/tip/hash', `/block/${hash}/raw`])
})

test('the mempool costs a call for each open checkout and each new payment, however full it is', async () => {
  for (let count = 0; count < 12; count++) await node.pay(await node.newAddress(), '0.01')
  const txid = await node.pay(address, '1')
  open.push(await node.addressBytesOf(await node.newAddress()))
  await waiting()
  server.calls.length = 0
  expect(await waiting()).toEqual([txid])
  expect(server.calls.filter((path) => path.endsWith('/txs/mempool'))).toHaveLength(2)
  expect(server.calls.filter((path) => path.startsWith('/tx/'))).toEqual([])
  expect(server.calls.length).toBeLessThanOrEqual(2 + 3)
  await node.mine(1)
})

test('who spends from one of our addresses pays nobody', async () => {
  await node.pay(address, '1')
  await node.mine(1)
  const { txid, vout } = (
    await node.rpc<{ txid: string; vout: number }[]>('listunspent', [1, 9_999, [address]])
  )[0] ?? { txid: '', vout: 0 }
  await node.payMany([{ [await node.newAddress()]: '0.9' }], [{ txid, vout }])
  expect(await waiting()).toEqual([])
  await node.mine(1)
})

test('the chain is known by its genesis block, and one of another coin or for live money halts', async () => {
  expect(await adapter.connect()).toEqual({ parameters: 'regtest', health: { status: 'ok' } })
  const bitcoin = adapterWith({ chain: 'bitcoin' })
  await expect(bitcoin.connect()).rejects.toThrow(ChainHalted)
  const live = adapterWith({ livemode: true })
  await expect(live.connect()).rejects.toThrow(/is for live money .* on the chain "regtest"/)
  const main = '12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2'
  server.lie(/^\/block-height\/0$/, () => ({ status: 200, body: main }))
  await expect(adapter.connect()).rejects.toThrow(/is for tests .* live chain "main"/)
  const test4966 = '4966625a4b2851d9fdee139e56211a0d88575f59ed816ff5e6a63deb4e3e29a0'
  server.tellTheTruth()
  server.lie(/^\/block-height\/0$/, () => ({ status: 200, body: test4966 }))
  // The test chain's first block, the only one of its that is at hand: a server that stands there is syncing.
  const header = {
    version: 1,
    merkle_root: '97ddfbbae6be97fd6cdf3e7ca13232a3afff2353e29badfab7f73011edd4ced9',
    timestamp: 1_486_949_366,
    bits: 0x1e0f_fff0,
    nonce: 293_345,
  }
  server.lie(/tip\/hash$/, () => ({ status: 200, body: test4966 }))
  server.lie(/^\/block\/4966[0-9a-f]+$/, () => ({
    status: 200,
    body: JSON.stringify({ id: test4966, height: 0, previousblockhash: null, ...header }),
  }))
  const late = adapterWith()
  expect(await late.connect()).toMatchObject({ parameters: 'test', health: { status: 'syncing' } })
  await Promise.all([bitcoin, live, late].map((each) => each.close()))
})

test('a block cut off, or with other bytes than its hash vouches for, credits nothing', async () => {
  const txid = await node.pay(address, '1')
  await node.mine(1)
  server.lie(/\/raw$/, ({ body }) => ({ status: 200, body: Buffer.from(body.slice(0, -40)) }))
  await expect(next()).rejects.toThrow(ChainUnavailable)
  server.tellTheTruth()
  server.lie(/\/raw$/, ({ body }) => {
    const bytes = Buffer.from(body)
    bytes[100] = (bytes[100] ?? 0) ^ 1
    return { status: 200, body: bytes }
  })
  await expect(next()).rejects.toThrow(/transactions that are not the block's|damaged/)
  server.tellTheTruth()
  const genesis = Buffer.from(
    await node.rpc<string>('getblock', [await node.rpc('getblockhash', [0]), 0]),
    'hex',
  )
  server.lie(/\/raw$/, () => ({ status: 200, body: genesis }))
  await expect(next()).rejects.toThrow(ChainHalted)
  server.tellTheTruth()
  expect(await found()).toEqual([txid])
})

const REGTEST_BITS = 0x207f_ffff
const invent = (changes: Partial<Parameters<typeof inventBlock>[0]> = {}) => {
  const [addressBytes = Buffer.alloc(0)] = open
  const block = {
    chain: 'litecoin',
    parent: checkpoint,
    addressBytes,
    bits: REGTEST_BITS,
    hasWork: false,
  } as const
  return inventBlock({ ...block, ...changes })
}

test('an invented block without proof of work credits nothing, and is no tip', async () => {
  const block = invent()
  serveInvented(server, block)
  const refusal = new RegExp(
    `shows block ${block.hash}, whose header does not have the proof of work that it claims: it is broken or lies; replace it in TEST_LITECOIN_RPC_URL`,
  )
  await expect(next()).rejects.toThrow(refusal)
  await expect(adapter.tip()).rejects.toThrow(refusal)
  await expect(adapter.connect()).rejects.toThrow(refusal)
  await expect(adapter.hashAt(block.height)).rejects.toThrow(refusal)
  server.tellTheTruth()
  expect(await next()).toBeNull()
})

test('an invented block with the work of a test chain credits in test mode, where anybody can mine', async () => {
  const block = invent({ hasWork: true })
  serveInvented(server, block)
  expect(await found()).toEqual([block.txid])
})

test('a server that shows an easy chain as that of live money is refused', async () => {
  const main = '12a765e31ffd4059bada1e25190f6e98c99d9714d334efa41a195a7e7e04bfe2'
  // Their work takes seconds, in which the server closes connections that are idle.
  const [easy, easyOfMain] = [invent({ hasWork: true }), invent({ hasWork: true, bits: 0x1f0f_ffff })]
  server.lie(/^\/block-height\/0$/, () => ({ status: 200, body: main }))
  const live = adapterWith({ livemode: true, watched: adapter.watched })
  serveInvented(server, easy)
  await expect(live.nextUpdate(checkpoint, BLOCKS_MAX)).rejects.toThrow(
    /a target that the chain does not allow/,
  )
  serveInvented(server, easyOfMain)
  await expect(live.connect()).rejects.toThrow(/a target that the chain does not allow/)
  await live.close()
})

test('a block whose difficulty does not follow from the one below credits nothing', async () => {
  const client = new EsploraClient(server.url, 'LIVE_LITECOIN_RPC_URL')
  const regtest = utxoParametersOf('litecoin', 'regtest')
  if (regtest === null) throw new Error('no regtest')
  const strict = { ...regtest, work: { ...regtest.work, allowsEasyBlocks: false } }
  const chain = new EsploraChain(client, adapter.watched, () => strict)
  const walk = () => new ChainWalk(chain, 'LTC').next(checkpoint, BLOCKS_MAX)
  serveInvented(server, invent({ hasWork: true, bits: 0x2060_0000 }))
  await expect(walk()).rejects.toThrow(/whose difficulty cannot follow that of the block below/)
  server.tellTheTruth()
  serveInvented(server, invent({ hasWork: true }))
  expect((await walk())?.blocks).toHaveLength(1)
  await client.close()
})

test('a header that is not the one of its hash is refused', async () => {
  await node.mine(1)
  server.lie(/^\/block\/[0-9a-f]{64}$/, ({ body }) => {
    const told = JSON.parse(String(body)) as { timestamp: number }
    return { status: 200, body: JSON.stringify({ ...told, timestamp: told.timestamp + 3_600 }) }
  })
  await expect(adapter.tip()).rejects.toThrow(/with a header that is not the block's/)
})

test('a server below our checkpoint is syncing, and one that is limited, broken or something else says so', async () => {
  const stale = await node.rpc<string>('getblockhash', [50])
  server.lie(/^\/blocks\/tip\/hash$/, () => ({ status: 200, body: stale }))
  server.lie(new RegExp(`^/block/${checkpoint.hash}`), () => ({ status: 404, body: 'Block not found' }))
  await expect(next()).rejects.toThrow(ChainSyncing)
  const told = async (status: number, body: string) => {
    server.tellTheTruth()
    server.lie(/tip\/hash$/, () => ({ status, body }))
    return next().catch((error: unknown) => String(error))
  }
  expect(await told(429, 'slow down')).toMatch(/takes no more requests from us for now: run one of your own/)
  expect(await told(403, '')).toMatch(/refuses us: correct the credentials in TEST_LITECOIN_RPC_URL/)
  expect(await told(503, '')).toMatch(/has a fault of its own \(503\)/)
  expect(await told(200, '<html>')).toMatch(/TEST_LITECOIN_RPC_URL must point to an Esplora server's API/)
  expect(await told(404, 'no')).toMatch(
    /does not have \/blocks\/tip\/hash: TEST_LITECOIN_RPC_URL must point to/,
  )
  server.tellTheTruth()
  await server.stop()
  await expect(next()).rejects.toThrow(/refuses the connection|ended the connection/)
  await server.start()
})

test('a payment that leaves the mempool is alive while nothing spends its inputs, and is offered again', async () => {
  const hex = await node.signUnsent([{ [address]: '1' }])
  const txid = await node.rpc<string>('sendrawtransaction', [hex])
  expect(await waiting()).toEqual([txid])
  await node.stop()
  await node.start(['-persistmempool=0', '-walletbroadcast=0'])
  expect(await node.rpc('getrawmempool')).toEqual([])
  expect(await adapter.outcomesOf([txid])).toEqual(new Map([[txid, 'alive']]))
  expect(await node.rpc<string[]>('getrawmempool')).toContain(txid)
  await node.mine(1)
  expect(await adapter.outcomesOf([txid])).toEqual(new Map([[txid, 'alive']]))
  await node.stop()
  await node.start()
})

test('after a restart of ours a replaced payment is dead, and one that waits is alive', async () => {
  const txid = await node.pay(address, '1', { replaceable: true })
  await adapter.close()
  adapter = adapterWith()
  await adapter.connect()
  expect(await adapter.outcomesOf([txid])).toEqual(new Map([[txid, 'alive']]))
  await node.spendAgain(txid)
  const unaware = adapterWith()
  expect(await unaware.outcomesOf([txid])).toEqual(new Map([[txid, 'dead']]))
  expect(await unaware.outcomesOf(['ab'.repeat(32)])).toEqual(new Map([['ab'.repeat(32), 'dead']]))
  await unaware.close()
  await node.mine(1)
})

test('a line of payments that the server forgot is offered again from its beginning', async () => {
  const parent = await node.signUnsent([{ [address]: '1' }])
  const first = await node.rpc<string>('sendrawtransaction', [parent])
  const { vout } = await node.rpc<{ vout: { n: number; value: number }[] }>('decoderawtransaction', [parent])
  const paying = vout.find(({ value }) => value === 1)?.n ?? 0
  const second = await node.payMany([{ [address]: '0.9' }], [{ txid: first, vout: paying }])
  expect(await waiting()).toEqual(expect.arrayContaining([first, second.txid]))
  await node.stop()
  await node.start(['-persistmempool=0', '-walletbroadcast=0'])
  expect(await node.rpc('getrawmempool')).toEqual([])
  const outcomes = await adapter.outcomesOf([second.txid, first])
  expect([...outcomes.values()]).toEqual(['alive', 'alive'])
  expect(await node.rpc<string[]>('getrawmempool')).toEqual(expect.arrayContaining([first, second.txid]))
  await node.mine(1)
})
