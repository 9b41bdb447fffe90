// @module-tag litecoind
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { ChainAdapter } from '../../src/chain/adapter.ts'
import { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { DrivenChain } from '../support/chain-driver.ts'
import { startNode, type TestNode } from '../support/litecoind.ts'
import { sandboxDriver } from '../support/sandbox-driver.ts'
import { until } from '../support/until.ts'
import { utxoAdapterOptions } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

const { amount } = sandboxDriver
/** The first chain is this much higher than the second, as a sandbox is that was used for a while. */
const BLOCKS_AHEAD = 30

let watched: WatchedChain
let other: DrivenChain
let node: TestNode
beforeAll(async () => {
  ;[watched, other, node] = await Promise.all([
    WatchedChain.open(sandboxDriver),
    sandboxDriver.start(),
    startNode('litecoin', { blocks: 0 }),
  ])
  await watched.chain.mine(BLOCKS_AHEAD)
})
afterEach(() => watched.stopWatchers())
afterAll(async () => {
  await watched.close()
  await other.remove()
  await node.remove()
})

const toOther = () => other.adapter()
const toNode = () => new UtxoAdapter({ ...utxoAdapterOptions('litecoin', node.rpcUrl), clock: systemClock })

async function watchAtTipOf(adapter: ChainAdapter) {
  const watcher = await watched.watchAtTip({ adapter })
  expect(await watched.state()).toMatchObject({ status: 'ok', hash: (await adapter.tip()).hash })
  return watcher
}

test('a test network pointed to another chain of the same parameters goes on there; old payments stay', async () => {
  const before = await watched.watchAtTip()
  const paid = await watched.openInvoice([before])
  await watched.chain.pay(paid.address, amount)
  await watched.chain.mine(1)
  await watched.untilStatus(paid.id, 'paid')
  const waiting = await watched.openInvoice([before], watched.needs(6))
  await watched.chain.pay(waiting.address, amount)
  await watched.chain.mine(1)
  await watched.untilStatus(waiting.id, 'confirming')
  const chainBefore = (await watched.state()).chain
  await watched.stopWatchers()

  const after = await watchAtTipOf(toOther())
  expect((await watched.state()).chain).not.toBe(chainBefore)
  await watched.untilStatus(waiting.id, 'awaiting_payment')
  const second = await watched.openInvoice([after])
  await other.pay(second.address, amount)
  await other.mine(1)
  await watched.untilStatus(second.id, 'paid')
  await other.reorganise(2)
  await until(async () => (await watched.state()).hash === (await other.tipHash()), {
    what: 'the reorganisation of the other chain was read',
  })
  expect(await watched.statusOf(paid.id)).toBe('paid')
  expect(await watched.paymentsOf(paid.id)).toEqual(['confirmed'])
  expect(await watched.eventsOf(paid.id)).not.toContain('manual_review')

  await watched.stopWatchers()
  await watched.watchAtTip()
  expect((await watched.state()).chain).toBe(chainBefore)
  expect(await watched.statusOf(second.id)).toBe('paid')
})

test('back on the chain it came from, a network follows what was paid there again', async () => {
  const first = await watched.watchAtTip()
  const invoice = await watched.openInvoice([first])
  await watched.chain.pay(invoice.address, amount)
  await watched.chain.mine(1)
  await watched.untilStatus(invoice.id, 'paid')
  await watched.stopWatchers()
  await watchAtTipOf(toOther())
  await watched.stopWatchers()
  const back = await watched.watchAtTip()
  expect(await watched.paymentsOf(invoice.id)).toEqual(['confirmed'])
  const tracked = await watched.database.owner.query(
    'select from transfer where invoice_id = $1 and left_on_chain is null',
    [invoice.id],
  )
  expect(tracked.rowCount).toBe(1)
  const next = await watched.openInvoice([back])
  await watched.chain.pay(next.address, amount)
  await watched.chain.mine(1)
  await watched.untilStatus(next.id, 'paid')
})

test('a node with only its genesis block is another chain, and known by its first block from then on', async () => {
  await watched.watchAtTip()
  await watched.stopWatchers()
  await watchAtTipOf(toNode())
  expect(await watched.state()).toMatchObject({ height: 0, chain: null })
  await node.mine(3)
  await until(async () => (await watched.state()).height === 3, { what: 'the first blocks were read' })
  const firstBlock = await node.rpc('getblockhash', [1])
  await until(async () => (await watched.state()).chain === firstBlock, { what: 'the chain is known' })
  await watched.stopWatchers()
  await watched.watchAtTip()
  expect((await watched.state()).chain).not.toBe(firstBlock)
})

test('a chain whose first block is reorganised away stays the chain it is', async () => {
  await watched.watchAtTip()
  await watched.stopWatchers()
  const watcher = await watchAtTipOf(toNode())
  const invoice = await watched.openInvoice([watcher])
  await node.mine(1, invoice.address)
  await watched.untilStatus(invoice.id, 'confirming')
  const { height } = await watched.state()
  await watched.stopWatchers()
  await node.rpc('invalidateblock', [await node.rpc('getblockhash', [1])])
  await node.mine(Number(height) + 2)
  await watchAtTipOf(toNode())
  expect((await watched.state()).chain).toBe(await node.rpc('getblockhash', [1]))
  const followed = await watched.database.owner.query(
    'select from transfer where invoice_id = $1 and left_on_chain is null',
    [invoice.id],
  )
  expect(followed.rowCount).toBe(1)
})
