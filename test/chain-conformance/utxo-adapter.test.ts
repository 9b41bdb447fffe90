import { afterAll, beforeAll, expect, test } from 'vitest'
import type { BlockRef, FoundTransfer } from '../../src/chain/adapter.ts'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { systemClock } from '../../src/clock.ts'
import { startNode, type TestNode } from '../support/litecoind.ts'

const BLOCKS_MAX = 50

let node: TestNode
const adapters: UtxoAdapter[] = []
beforeAll(async () => {
  node = await startNode('litecoin')
})
afterAll(async () => {
  await Promise.all(adapters.map((adapter) => adapter.close()))
  await node.remove()
})

function adapterFor(url = node.rpcUrl, livemode = false): UtxoAdapter {
  const adapter = new UtxoAdapter({
    chain: 'litecoin',
    livemode,
    rpcUrl: url,
    rpcSetting: 'TEST_LITECOIN_RPC_URL',
    zmqUrl: null,
    clock: systemClock,
  })
  adapters.push(adapter)
  return adapter
}

/** A connected adapter that watches a new address of the node's wallet. */
async function watching(count = 1) {
  const adapter = adapterFor()
  const addresses: string[] = []
  const programs: string[] = []
  for (let index = 0; index < count; index++) {
    const address = await node.newAddress()
    const program = await node.programOf(address)
    adapter.watched.add([program])
    addresses.push(address)
    programs.push(program.toString('hex'))
  }
  await adapter.connect()
  const [address = '', other = ''] = addresses
  const [program = '', otherProgram = ''] = programs
  return { adapter, address, other, program, otherProgram, checkpoint: await adapter.tip() }
}

/** Follows the chain to its tip and collects what was found. */
async function follow(adapter: UtxoAdapter, from: BlockRef) {
  let checkpoint = from
  const transfers: FoundTransfer[] = []
  const ancestors: BlockRef[] = []
  for (let step = 0; step < BLOCKS_MAX; step++) {
    const update = await adapter.nextUpdate(checkpoint, BLOCKS_MAX)
    if (update === null) break
    ancestors.push(update.ancestor)
    transfers.push(...update.blocks.flatMap((block) => block.transfers))
    checkpoint = update.blocks.at(-1)?.block ?? update.ancestor
  }
  return { checkpoint, transfers, ancestors }
}

async function mempoolOf(adapter: UtxoAdapter) {
  const reading = await adapter.readMempool()
  if (reading === null) throw new Error('the tip moved under the test')
  return reading.transfers
}

test('a payment is seen in the mempool with the time of the first sighting, then once in its block', async () => {
  const { adapter, address, program, checkpoint } = await watching()
  const before = Date.now()
  const txid = await node.pay(address, '1.5')
  const [sighting] = await mempoolOf(adapter)
  expect(sighting).toMatchObject({
    txid,
    program,
    asset: 'LTC',
    amount: 150_000_000n,
    minimumConfirmations: 1,
  })
  expect(sighting?.firstSeenMs).toBeGreaterThanOrEqual(before - 1_000)
  expect(sighting?.firstSeenMs).toBeLessThanOrEqual(Date.now())
  await node.mine(1)
  const { transfers, checkpoint: tip } = await follow(adapter, checkpoint)
  expect(transfers).toEqual([
    {
      txid,
      program,
      asset: 'LTC',
      amount: 150_000_000n,
      outputIndex: sighting?.outputIndex,
      minimumConfirmations: 1,
    },
  ])
  expect(tip.height).toBe(checkpoint.height + 1)
  expect(await mempoolOf(adapter)).toEqual([])
  expect(await adapter.nextUpdate(tip, BLOCKS_MAX)).toBeNull()
})

test('several outputs of one transaction to one address are several transfers', async () => {
  const { adapter, address, program, checkpoint } = await watching()
  const { txid } = await node.payTwice(address, ['0.4', '0.3'])
  expect((await mempoolOf(adapter)).map((transfer) => [transfer.txid, transfer.program])).toEqual([
    [txid, program],
    [txid, program],
  ])
  await node.mine(1)
  const { transfers } = await follow(adapter, checkpoint)
  expect(transfers.map(({ amount }) => amount).sort()).toEqual([30_000_000n, 40_000_000n])
  expect(new Set(transfers.map(({ outputIndex }) => outputIndex)).size).toBe(2)
})

test('one transaction that pays two addresses is a transfer to each', async () => {
  const { adapter, address, other, program, otherProgram, checkpoint } = await watching(2)
  const { txid } = await node.payMany([{ [address]: '0.4' }, { [other]: '0.3' }])
  await node.mine(1)
  const { transfers } = await follow(adapter, checkpoint)
  const found = transfers.map((transfer) => [transfer.txid, transfer.program, transfer.amount])
  expect(found).toContainEqual([txid, program, 40_000_000n])
  expect(found).toContainEqual([txid, otherProgram, 30_000_000n])
  expect(found).toHaveLength(2)
})

test('coinbase to a watched address waits for a hundred confirmations', async () => {
  const { adapter, address, checkpoint } = await watching()
  await node.mine(1, address)
  const { transfers } = await follow(adapter, checkpoint)
  expect(transfers).toHaveLength(1)
  expect(transfers[0]?.minimumConfirmations).toBe(100)
})

test.each([1, 2, 6])('a reorganisation of %i blocks is one step from the common ancestor', async (depth) => {
  const { adapter, address, checkpoint } = await watching()
  const txid = await node.pay(address, '1')
  const first = await node.mine(depth)
  const { checkpoint: orphaned } = await follow(adapter, checkpoint)
  await node.rpc('invalidateblock', [first[0]])
  await node.mine(depth + 1)
  const update = await adapter.nextUpdate(orphaned, BLOCKS_MAX)
  expect(update?.ancestor).toEqual(checkpoint)
  expect(update?.blocks).toHaveLength(depth + 1)
  expect(update?.blocks.flatMap((block) => block.transfers.map((transfer) => transfer.txid))).toEqual([txid])
  expect(update?.tip).toEqual(update?.blocks.at(-1)?.block)
})

test('blocks that the node declared invalid are disconnected even while nothing better is known', async () => {
  const { adapter, address, checkpoint } = await watching()
  const txid = await node.pay(address, '1')
  const [hash] = await node.mine(2)
  const { checkpoint: orphaned } = await follow(adapter, checkpoint)
  await node.rpc('invalidateblock', [hash])
  expect(await adapter.nextUpdate(orphaned, BLOCKS_MAX)).toEqual({
    ancestor: checkpoint,
    blocks: [],
    tip: checkpoint,
  })
  expect((await mempoolOf(adapter)).map((transfer) => transfer.txid)).toEqual([txid])
  await node.rpc('reconsiderblock', [hash])
  expect((await follow(adapter, checkpoint)).checkpoint).toEqual(orphaned)
})

test('a replaced transaction is dead, in the mempool and after the next block', async () => {
  const { adapter, address } = await watching()
  const txid = await node.pay(address, '1', { replaceable: true })
  expect(await mempoolOf(adapter)).toHaveLength(1)
  await node.spendAgain(txid, await node.newAddress())
  expect(await mempoolOf(adapter)).toEqual([])
  expect(await adapter.fateOf([txid])).toEqual(new Map([[txid, 'dead']]))
  await node.mine(1)
  expect(await adapter.fateOf([txid])).toEqual(new Map([[txid, 'dead']]))
})

test('a transaction that the node lost is offered again and lives on', async () => {
  const { adapter, address } = await watching()
  const txid = await node.pay(address, '1')
  expect(await mempoolOf(adapter)).toHaveLength(1)
  await node.stop()
  await node.start(['-persistmempool=0', '-walletbroadcast=0'])
  expect(await mempoolOf(adapter)).toEqual([])
  expect(await adapter.fateOf([txid])).toEqual(new Map([[txid, 'alive']]))
  expect((await mempoolOf(adapter)).map((transfer) => transfer.txid)).toEqual([txid])
})
