// @module-tag litecoind
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { coinsOf, type DrivenNode, utxoDriver } from '../support/utxo-driver.ts'
import { WatchedChain } from '../support/watched-chain.ts'

/** The last block before regtest's extension block begins. */
const BEFORE_MWEB = 431
const PEG_OUT_CONFIRMATIONS = 6
const PAID_EVENTS = ['payment_detected', 'confirming', 'paid']

let watched: WatchedChain<DrivenNode>
beforeAll(async () => {
  watched = await WatchedChain.open(utxoDriver('litecoin', { blocks: BEFORE_MWEB }))
  const { node } = watched.chain
  await node.pay(await node.rpc<string>('getnewaddress', ['', 'mweb']), '40')
  await node.mine(2)
})
afterEach(() => watched.stopWatchers())
afterAll(() => watched.close())

/** Spends only what lies in the extension block: the payment is a peg-out. */
async function pegOutTo(address: string, amount: bigint): Promise<string> {
  const { node } = watched.chain
  const unspent = await node.rpc<{ txid: string; vout?: number; address: string }[]>('listunspent', [0])
  const transparent = unspent.filter((coin) => coin.address.startsWith('rltc'))
  const outpoints = transparent.map(({ txid, vout }) => ({ txid, vout }))
  await node.rpc('lockunspent', [false, outpoints])
  const txid = await node.pay(address, coinsOf(amount))
  await node.rpc('lockunspent', [true, outpoints])
  return txid
}

async function transferOf(invoiceId: string) {
  const { rows } = await watched.database.owner.query<{
    txid: string
    output_index: number
    confirmations_required: number
  }>('select txid, output_index, confirmations_required from transfer where invoice_id = $1', [invoiceId])
  return rows[0]
}

test('a peg-in beside a payment disturbs nothing, in the mempool and in its block', async () => {
  const { node } = watched.chain
  const invoice = await watched.openInvoice([await watched.watchAtTip()])
  await node.pay(await node.rpc<string>('getnewaddress', ['', 'mweb']), '10')
  await node.pay(invoice.address, coinsOf(watched.driver.amount))
  await watched.untilStatus(invoice.id, 'payment_detected')
  await node.mine(1)
  await watched.untilStatus(invoice.id, 'paid')
  expect(await watched.eventsOf(invoice.id)).toEqual(PAID_EVENTS)
})

test('a peg-out, which no mempool shows, is found in its block and paid at its sixth confirmation', async () => {
  const { node } = watched.chain
  const { amount } = watched.driver
  const invoice = await watched.openInvoice([await watched.watchAtTip()])
  const before = await watched.availableBalance()
  const sent = await pegOutTo(invoice.address, amount)
  await watched.untilRead()
  expect(await watched.statusOf(invoice.id)).toBe('awaiting_payment')
  await node.mine(1)
  await watched.untilStatus(invoice.id, 'confirming')
  const transfer = await transferOf(invoice.id)
  expect(transfer?.txid).not.toBe(sent)
  expect(transfer?.output_index).toBeGreaterThan(0)
  expect(transfer?.confirmations_required).toBe(PEG_OUT_CONFIRMATIONS)
  await node.mine(PEG_OUT_CONFIRMATIONS - 2)
  await watched.untilRead()
  expect(await watched.statusOf(invoice.id)).toBe('confirming')
  await node.mine(1)
  await watched.untilStatus(invoice.id, 'paid')
  expect(await watched.availableBalance()).toBe(before + amount)
})

test('a peg-out that a reorganisation takes away is taken back, and counts once in its new block', async () => {
  const { node } = watched.chain
  const { amount } = watched.driver
  const invoice = await watched.openInvoice([await watched.watchAtTip()])
  const before = await watched.availableBalance()
  await pegOutTo(invoice.address, amount)
  const [hash] = await node.mine(1)
  await node.mine(PEG_OUT_CONFIRMATIONS - 1)
  await watched.untilStatus(invoice.id, 'paid')
  await node.rpc('invalidateblock', [hash])
  await watched.untilStatus(invoice.id, 'manual_review')
  expect(await watched.availableBalance()).toBe(before)
  await node.mine(PEG_OUT_CONFIRMATIONS + 1)
  await watched.untilStatus(invoice.id, 'paid')
  // The new block's HogEx may be another transaction or the same one; the money counts once in any case.
  const states = await watched.paymentsOf(invoice.id)
  expect(states.filter((state) => state === 'confirmed')).toEqual(['confirmed'])
  expect(await watched.availableBalance()).toBe(before + amount)
})
