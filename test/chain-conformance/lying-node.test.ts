import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { ChainHalted, ChainSyncing, ChainUnavailable } from '../../src/chain/adapter.ts'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { utxoParametersOf } from '../../src/core/chain/utxo-parameters.ts'
import type { BlockRef } from '../../src/core/invoice/types.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { NODE_PROGRAMS } from '../support/daemons.ts'
import { describeNeeding } from '../support/describe-needing.ts'
import { startNode, type TestNode } from '../support/litecoind.ts'
import { type RpcProxy, startRpcProxy } from '../support/rpc-proxy.ts'
import { settingOf, utxoAdapterOptions } from '../support/utxo-driver.ts'
import { asSeenFrom } from '../support/utxo-lies.ts'

const BLOCKS_MAX = 50

/** What the adapter itself makes of single wrong answers; the suite shows what the watcher makes of them. */
describeNeeding(NODE_PROGRAMS, 'an adapter of %s', (chain) => {
  let node: TestNode
  let proxy: RpcProxy
  let adapter: UtxoAdapter
  let checkpoint: BlockRef
  let txid: string
  beforeAll(async () => {
    node = await startNode(chain)
  })
  afterAll(() => node.remove())

  /** A connected adapter behind the proxy, one block with a payment away from its checkpoint. */
  beforeEach(async () => {
    proxy = await startRpcProxy(node.rpcUrl)
    adapter = new UtxoAdapter({ ...utxoAdapterOptions(chain, proxy.url), clock: systemClock })
    const address = await node.newAddress()
    adapter.watched.add([await node.addressBytesOf(address)])
    await adapter.connect()
    checkpoint = await adapter.tip()
    txid = await node.pay(address, '1')
    await node.mine(1)
  })
  afterEach(async () => {
    await adapter.close()
    await proxy.close()
  })

  const next = (from = checkpoint) => adapter.nextUpdate(from, BLOCKS_MAX)
  const found = async () =>
    (await next())?.blocks.flatMap(({ transfers }) => transfers.map((each) => each.txid))

  test('a new block costs two calls: its hash and its bytes', async () => {
    proxy.calls.length = 0
    expect(await found()).toEqual([txid])
    expect(proxy.calls).toEqual(['getbestblockhash', 'getblock'])
  })

  test('catching up costs a request a block and a few for the whole step, and less where blocks are small', async () => {
    await node.mine(19)
    const before = proxy.requests()
    const update = await next()
    expect(update?.blocks).toHaveLength(20)
    expect(proxy.calls.filter((method) => method === 'getblock').length).toBeLessThanOrEqual(21)
    expect(proxy.calls.filter((method) => method === 'getblockhash')).toHaveLength(1 + 20)
    expect(proxy.requests() - before).toBeLessThanOrEqual(20 + 5)
    const again = proxy.requests()
    expect(await next()).toEqual(update)
    expect(proxy.requests() - again).toBeLessThanOrEqual(3 + 5)
  })

  test('what serves no batches is asked one call at a time', async () => {
    await node.mine(19)
    proxy.refuseBatches()
    const update = await next()
    expect(update?.blocks).toHaveLength(20)
    expect(update?.blocks.flatMap(({ transfers }) => transfers.map((each) => each.txid))).toEqual([txid])
    expect(await next()).toEqual(update)
  })

  test('several blocks in one answer are each proved: one of them wrong, cut off or missing connects nothing', async () => {
    await node.mine(9)
    await next()
    const genesis = await node.rpc<string>('getblock', [await node.rpc('getblockhash', [0]), 0])
    const hash = await node.rpc<string>('getblockhash', [checkpoint.height + 5])
    const lies: [(hex: unknown) => unknown, RegExp][] = [
      [() => genesis, /the node gave/],
      [(hex) => String(hex).slice(0, -20), /damaged/],
      [() => null, /in a form that is not known/],
      [
        () => {
          throw new Error('Block not available (pruned data)')
        },
        /has pruned block/,
      ],
    ]
    for (const [lie, reason] of lies) {
      proxy.lie('getblock', (hex, { params }) => (params[0] === hash ? lie(hex) : hex))
      const before = proxy.requests()
      await expect(next()).rejects.toThrow(reason)
      expect(proxy.requests() - before).toBeLessThanOrEqual(2 + 5)
      proxy.tellTheTruth()
      await next()
    }
    expect(await found()).toEqual([txid])
  })

  test('a batch that lacks an answer, or has one that is no hash, connects nothing', async () => {
    await node.mine(5)
    const wrong = [() => undefined, () => 7, () => 'ab'.repeat(31), () => null]
    for (const lie of wrong) {
      proxy.lie('getblockhash', (hash, { params }) => (params[0] === checkpoint.height + 3 ? lie() : hash))
      await expect(next()).rejects.toThrow(/getblockhash in a form that is not known/)
    }
    proxy.tellTheTruth()
    proxy.dropFromBatches('getblockhash')
    await expect(next()).rejects.toThrow(/left out an answer of several to getblockhash/)
    proxy.tellTheTruth()
    proxy.lie('getblockhash', (hash, { params }) => {
      if (params[0] === checkpoint.height + 3) throw new Error('out of sorts')
      return hash
    })
    await expect(next()).rejects.toThrow(/answered getblockhash with: out of sorts/)
    proxy.tellTheTruth()
    expect(await found()).toEqual([txid])
  })

  test('a block cut off at any place is refused and read again', async () => {
    const whole = (await node.rpc<string>('getblock', [await node.rpc('getbestblockhash'), 0])).length / 2
    for (let length = 0; length < whole; length += 7) {
      proxy.lie('getblock', (hex) => String(hex).slice(0, length * 2))
      await expect(next()).rejects.toThrow(ChainUnavailable)
    }
    proxy.tellTheTruth()
    expect(await found()).toEqual([txid])
  })

  test('a block other than the one asked for halts', async () => {
    const genesis = await node.rpc<string>('getblock', [await node.rpc('getblockhash', [0]), 0])
    proxy.lie('getblock', () => genesis)
    await expect(next()).rejects.toThrow(ChainHalted)
  })

  test('a block with one bit changed anywhere credits nothing that its hash does not vouch for', async () => {
    const hash = await node.rpc<string>('getbestblockhash')
    const bytes = Buffer.from(await node.rpc<string>('getblock', [hash, 0]), 'hex')
    const spends = await node.rpc<{ tx: { hex: string; txid: string }[] }>('getblock', [hash, 2])
    const payment = Buffer.from(spends.tx.find((each) => each.txid === txid)?.hex ?? '', 'hex')
    const start = bytes.indexOf(payment)
    for (let at = start; at < start + payment.length; at += 5) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      proxy.lie('getblock', () => changed.toString('hex'))
      const told = await next().then(
        (update) => update?.blocks[0]?.transfers.map((each) => [each.txid, each.amount]),
        (error: unknown) => error,
      )
      // A witness is no part of what the header's root covers, and none of what pays whom.
      if (Array.isArray(told)) expect(told).toEqual([[txid, 100_000_000n]])
      else expect(told).toBeInstanceOf(Error)
    }
  })

  test('a block without its last transaction is refused although it parses', async () => {
    const hash = await node.rpc<string>('getbestblockhash')
    const { tx } = await node.rpc<{ tx: { hex: string }[] }>('getblock', [hash, 2])
    const bytes = await node.rpc<string>('getblock', [hash, 0])
    const last = tx.at(-1)?.hex ?? ''
    const count = (tx.length - 1).toString(16).padStart(2, '0')
    proxy.lie('getblock', () => `${bytes.slice(0, 160)}${count}${bytes.slice(162, -last.length)}`)
    await expect(next()).rejects.toThrow(/transactions that are not the block's/)
  })

  test('a tip that goes back to an older block is no reorganisation', async () => {
    const update = await next()
    const top = update?.tip ?? checkpoint
    for (const height of [top.height - 1, top.height - 40, 0]) {
      const hash = await node.rpc<string>('getblockhash', [height])
      proxy.lie('getbestblockhash', () => hash)
      proxy.lie('getblockheader', (header) => asSeenFrom(header, height))
      await expect(next(top)).rejects.toThrow(ChainSyncing)
    }
    proxy.tellTheTruth()
    expect(await next(top)).toBeNull()
  })

  test('a node that does not know our block and stands no higher is waited for', async () => {
    const stranger = { ...checkpoint, height: checkpoint.height + 30, hash: 'ab'.repeat(32) }
    await expect(next(stranger)).rejects.toThrow(ChainSyncing)
  })

  test('a node on another fork that has overtaken us is followed from below the fork', async () => {
    const forked = { ...checkpoint, hash: 'ab'.repeat(32) }
    const update = await next(forked)
    expect(update?.ancestor.height).toBe(Math.max(0, checkpoint.height - 100))
    expect(update?.blocks.at(-1)?.block).toEqual(update?.tip)
    expect(update?.blocks.at(-1)?.transfers.map((each) => each.txid)).toEqual([txid])
  })

  test('blocks of two forks that do not follow one another are never connected', async () => {
    await node.mine(5)
    const other = await node.rpc<string>('getblockhash', [3])
    proxy.lie('getblockhash', (hash, { params }) => (params[0] === checkpoint.height + 3 ? other : hash))
    await expect(next()).rejects.toThrow(/do not follow one another/)
  })

  test('a mempool read while the tip moves proves nothing', async () => {
    proxy.lie('getbestblockhash', () => 'cd'.repeat(32))
    expect(await adapter.readMempool()).toBeNull()
  })

  test('a mempool that the node still loads proves nothing', async () => {
    proxy.lie('getmempoolinfo', (told) => ({ ...(told as object), loaded: false }))
    await expect(adapter.readMempool()).rejects.toThrow(/is loading its mempool/)
  })

  test('a mempool transaction whose bytes are another one is refused', async () => {
    const address = await node.newAddress()
    adapter.watched.add([await node.addressBytesOf(address)])
    const paying = await node.pay(address, '1')
    const raw = await node.rpc<string>('getrawtransaction', [paying])
    await node.pay(await node.newAddress(), '1')
    proxy.lie('getrawtransaction', () => raw)
    await expect(adapter.readMempool()).rejects.toThrow(/the node gave another/)
  })

  test.each([
    ['headers far ahead of its blocks', { headers: 5_000 }, /syncing: block \d+ of 5000/],
    ['an initial download', { initialblockdownload: true }, /initial download/],
  ])('a node with %s is syncing, and its mempool proves nothing', async (_what, state, reason) => {
    // Only a public chain must keep up with the world.
    proxy.lie('getblockchaininfo', (told) => ({ ...(told as object), chain: 'test', ...state }))
    const genesis = utxoParametersOf(chain, 'test')?.genesisHash
    proxy.lie('getblockhash', (hash, { params }) => (params[0] === 0 ? genesis : hash))
    expect(await adapter.connect()).toMatchObject({
      health: { status: 'syncing', reason: expect.stringMatching(reason) },
    })
    await expect(adapter.readMempool()).rejects.toThrow(ChainSyncing)
  })

  test.each([
    ['main', /for tests and its node is on the live chain/],
    ['liquid', /not known/],
    ['test', /its genesis block is/],
  ])('a node on the chain %s is refused with the fix', async (name, reason) => {
    proxy.lie('getblockchaininfo', (told) => ({ ...(told as object), chain: name }))
    const refused = expect(adapter.connect()).rejects
    await refused.toThrow(reason)
    await expect(adapter.connect()).rejects.toThrow(settingOf(chain))
    await expect(adapter.connect()).rejects.toThrow(ChainHalted)
  })

  test('a node pruned above the checkpoint is refused, before and when it says so', async () => {
    proxy.lie('getblockchaininfo', (told) => ({ ...(told as object), pruned: true, pruneheight: 1_000 }))
    await adapter.connect()
    await expect(next()).rejects.toThrow(/pruned its blocks below 1000/)
  })

  test('answers that are no node of the family say so', async () => {
    for (const nonsense of [null, 7, {}, { chain: 5 }, 'text']) {
      proxy.lie('getblockchaininfo', () => nonsense)
      await expect(adapter.connect()).rejects.toThrow(/node of Bitcoin Core's family/)
    }
  })
})
