import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { until } from '../support/litecoind.ts'
import { LTC, NETWORK, WatchedChain } from '../support/watched-chain.ts'
import { networkState } from '../support/watched-network.ts'

let chain: WatchedChain
beforeAll(async () => {
  chain = await WatchedChain.open()
})
afterEach(() => chain.stopWatchers())
afterAll(() => chain.close())

test('a network that was never followed starts at the tip of its node', async () => {
  await chain.watchAtTip()
  const state = await networkState(chain.database, NETWORK)
  expect(state).toMatchObject({
    parameters: 'regtest',
    status: 'ok',
    reason: null,
    height: 110,
    tipHeight: 110,
  })
})

test('an invoice is detected in the mempool, confirming in a block, and paid at its confirmations', async () => {
  const watcher = await chain.watchAtTip()
  const invoice = await chain.openInvoice([watcher], { confirmations: { LTC: 3 } })
  await chain.node.pay(invoice.address, '1')
  await chain.untilStatus(invoice.id, 'payment_detected')
  await chain.node.mine(1)
  await chain.untilStatus(invoice.id, 'confirming')
  await chain.node.mine(1)
  await chain.untilRead()
  expect(await chain.statusOf(invoice.id)).toBe('confirming')
  await chain.node.mine(1)
  await chain.untilStatus(invoice.id, 'paid')
  expect(await chain.eventsOf(invoice.id)).toEqual(['payment_detected', 'confirming', 'paid'])
})

test('one transaction pays two invoices, and two outputs of one transaction pay one', async () => {
  const watcher = await chain.watchAtTip()
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => chain.openInvoice([watcher])))
  if (first === undefined || second === undefined || third === undefined) throw new Error('three were made')
  await chain.node.payMany([{ [first.address]: '1' }, { [second.address]: '1' }])
  await chain.node.payTwice(third.address, ['0.25', '0.75'])
  await chain.node.mine(1)
  for (const { id } of [first, second, third]) await chain.untilStatus(id, 'paid')
  expect(await chain.paymentsOf(third.id)).toEqual(['confirmed', 'confirmed'])
})

test('a payment that no mempool ever showed is found in its block', async () => {
  const watcher = await chain.watchAtTip()
  const invoice = await chain.openInvoice([watcher], { amount: 50n * LTC, confirmations: { LTC: 1 } })
  await chain.node.mine(1, invoice.address)
  await chain.untilStatus(invoice.id, 'confirming')
  const { rows } = await chain.database.owner.query(
    'select confirmations_required as needed from transfer where invoice_id = $1',
    [invoice.id],
  )
  expect(rows).toEqual([{ needed: 100 }])
})

test('a payment whose transaction is replaced by one to elsewhere is taken back', async () => {
  const watcher = await chain.watchAtTip()
  const invoice = await chain.openInvoice([watcher])
  const txid = await chain.node.pay(invoice.address, '1', { replaceable: true })
  await chain.untilStatus(invoice.id, 'payment_detected')
  await chain.node.spendAgain(txid, await chain.node.newAddress())
  await chain.untilStatus(invoice.id, 'awaiting_payment')
  await chain.node.mine(1)
  await chain.untilRead()
  expect(await chain.paymentsOf(invoice.id)).toEqual(['replaced'])
})

test('a payment replaced by another to the same address counts once', async () => {
  const watcher = await chain.watchAtTip()
  const invoice = await chain.openInvoice([watcher])
  const txid = await chain.node.pay(invoice.address, '1', { replaceable: true })
  await chain.untilStatus(invoice.id, 'payment_detected')
  const { txid: bumped } = await chain.node.rpc<{ txid: string }>('bumpfee', [txid])
  await chain.node.mine(1)
  await chain.untilStatus(invoice.id, 'paid')
  const { rows } = await chain.database.owner.query(
    'select txid, status from transfer where invoice_id = $1 order by status',
    [invoice.id],
  )
  await until(async () => (await chain.paymentsOf(invoice.id)).includes('replaced'), {
    what: 'the original is replaced',
  })
  expect(rows).toContainEqual({ txid: bumped, status: 'confirmed' })
})

test('a reorganisation takes a paid invoice to review and back, with the ledger as the chain', async () => {
  const watcher = await chain.watchAtTip()
  const invoice = await chain.openInvoice([watcher])
  const before = await chain.availableBalance()
  await chain.node.pay(invoice.address, '1')
  const [hash] = await chain.node.mine(2)
  await chain.untilStatus(invoice.id, 'paid')
  expect(await chain.availableBalance()).toBe(before + LTC)
  await chain.node.rpc('invalidateblock', [hash])
  await chain.untilStatus(invoice.id, 'manual_review')
  expect(await chain.paymentsOf(invoice.id)).toEqual(['detected'])
  expect(await chain.availableBalance()).toBe(before)
  await chain.node.mine(3)
  await chain.untilStatus(invoice.id, 'paid')
  expect(await chain.availableBalance()).toBe(before + LTC)
  expect(await chain.eventsOf(invoice.id)).toEqual([
    'payment_detected',
    'confirming',
    'paid',
    'manual_review',
  ])
})

test('a transaction that a reorganisation moves to another block never leaves the invoice', async () => {
  const first = await chain.watchAtTip()
  const invoice = await chain.openInvoice([first])
  await chain.node.pay(invoice.address, '1')
  const [hash] = await chain.node.mine(1)
  await chain.untilStatus(invoice.id, 'paid')
  await first.stop()
  await chain.node.rpc('invalidateblock', [hash])
  await chain.node.mine(4)
  await chain.watchAtTip()
  await chain.untilRead()
  expect(await chain.statusOf(invoice.id)).toBe('paid')
  expect(await chain.eventsOf(invoice.id)).toEqual(['payment_detected', 'confirming', 'paid'])
  const { rows } = await chain.database.owner.query('select block_hash from transfer where invoice_id = $1', [
    invoice.id,
  ])
  expect(rows).not.toEqual([{ block_hash: hash }])
})

test('a double-spend that comes in the other branch of a reorganisation is told as reorged', async () => {
  const watcher = await chain.watchAtTip()
  const invoice = await chain.openInvoice([watcher], { confirmations: { LTC: 2 } })
  const txid = await chain.node.pay(invoice.address, '1')
  const { hex } = await chain.node.rpc<{ hex: string }>('gettransaction', [txid])
  const [hash] = await chain.node.mine(1)
  await chain.untilStatus(invoice.id, 'confirming')
  await watcher.stop()
  const theft = await chain.node.conflictOf(hex)
  await chain.node.rpc('invalidateblock', [hash])
  await chain.node.mineOnly([theft])
  await chain.node.mineOnly([])
  await chain.watchAtTip()
  await chain.untilStatus(invoice.id, 'awaiting_payment')
  expect(await chain.paymentsOf(invoice.id)).toEqual(['reorged'])
})
