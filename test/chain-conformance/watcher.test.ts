import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { UtxoAdapter } from '../../src/chain/utxo/utxo-adapter.ts'
import type { Invoice, InvoiceStatus } from '../../src/core/invoice/types.ts'
import type { Tenant } from '../../src/db/transaction.ts'
import type { Watcher } from '../../src/watcher/start-watcher.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { startNode, type TestNode, until } from '../support/litecoind.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'
import { networkState, watchNetwork } from '../support/watched-network.ts'

const NETWORK = 'litecoin-test'
const LTC = 100_000_000n
const HOUR_MS = 3_600_000

type Watching = Watcher & { readonly adapter: UtxoAdapter }

let database: TestDatabase
let node: TestNode
let tenant: Tenant
let watching: Watching[] = []
beforeAll(async () => {
  database = await createTestDatabase()
  node = await startNode('litecoin')
  tenant = await seedMerchant(database)
})
afterEach(async () => {
  await Promise.all(watching.map((watcher) => watcher.stop()))
  watching = []
})
afterAll(async () => {
  await node.remove()
  await database.drop()
})

function watch(options: Partial<Parameters<typeof watchNetwork>[1]> = {}): Watching {
  const watcher = watchNetwork(database, { rpcUrl: node.rpcUrl, ...options })
  watching.push(watcher)
  return watcher
}

/** A watcher that stands at the node's tip. */
async function watchAtTip(options: Partial<Parameters<typeof watchNetwork>[1]> = {}): Promise<Watching> {
  const startedAt = Date.now()
  const watcher = watch(options)
  await until(async () => ((await stateOrNull())?.readAt?.getTime() ?? 0) >= startedAt, {
    what: 'the watcher has read chain and mempool',
  })
  return watcher
}

/** The state once there is one. */
async function stateOrNull() {
  const { rowCount } = await database.owner.query('select from network_state')
  return rowCount === 0 ? null : networkState(database, NETWORK)
}

/** An invoice over 1 LTC at a new address of the node's wallet, watched as the pool's filler does. */
async function openInvoice(watchers: readonly Watching[], changes: Partial<Invoice> = {}) {
  const address = await node.newAddress()
  const program = await node.programOf(address)
  for (const { adapter } of watchers) adapter.watched.add([program])
  const now = Date.now()
  const terms = {
    createdAtMs: now,
    expiresAtMs: now + HOUR_MS,
    amount: LTC,
    address,
    confirmations: { LTC: 1 },
  }
  const invoice = await seedInvoice(database, tenant, { ...terms, ...changes }, program)
  await database.owner.query(
    `insert into address (keyspace, idx, program, address, parameters, created_at, assigned_at)
     select keyspace, idx, program, address, 'regtest', created_at, created_at from deposit_address
     where invoice_id = $1`,
    [invoice.id],
  )
  return { id: invoice.id, address, expiresAtMs: invoice.expiresAtMs }
}

async function statusOf(invoiceId: string): Promise<InvoiceStatus | undefined> {
  const { rows } = await database.owner.query<{ status: InvoiceStatus }>(
    'select status from invoice where id = $1',
    [invoiceId],
  )
  return rows[0]?.status
}

const untilStatus = (invoiceId: string, status: InvoiceStatus) =>
  until(async () => (await statusOf(invoiceId)) === status, { what: `the invoice is ${status}` })

async function eventsOf(invoiceId: string): Promise<string[]> {
  const { rows } = await database.owner.query<{ event_type: string }>(
    'select event_type from event where resource_id = $1 order by sequence',
    [invoiceId],
  )
  return rows.map((row) => row.event_type.replace('invoice.', ''))
}

async function paymentsOf(invoiceId: string): Promise<string[]> {
  const { rows } = await database.owner.query<{ status: string }>(
    'select status from transfer where invoice_id = $1 order by output_index',
    [invoiceId],
  )
  return rows.map((row) => row.status)
}

async function availableBalance(): Promise<bigint> {
  const { rows } = await database.owner.query<{ balance: bigint }>(
    `select balance from ledger_balance where merchant_id = $1 and account = 'available'`,
    [tenant.merchantId],
  )
  return rows[0]?.balance ?? 0n
}

/** When the chain as it stands now has been read, and its consequences are committed. */
async function untilRead(): Promise<void> {
  const tip = await node.rpc<string>('getbestblockhash')
  const askedAt = Date.now()
  await until(
    async () => {
      const state = await networkState(database, NETWORK)
      return state.hash === tip && (state.readAt?.getTime() ?? 0) >= askedAt
    },
    { what: 'the watcher has read the new tip' },
  )
}

test('a network that was never followed starts at the tip of its node', async () => {
  await watchAtTip()
  const state = await networkState(database, NETWORK)
  expect(state).toMatchObject({
    parameters: 'regtest',
    status: 'ok',
    reason: null,
    height: 110,
    tipHeight: 110,
  })
})

test('an invoice is detected in the mempool, confirming in a block, and paid at its confirmations', async () => {
  const watcher = await watchAtTip()
  const invoice = await openInvoice([watcher], { confirmations: { LTC: 3 } })
  await node.pay(invoice.address, '1')
  await untilStatus(invoice.id, 'payment_detected')
  await node.mine(1)
  await untilStatus(invoice.id, 'confirming')
  await node.mine(1)
  await untilRead()
  expect(await statusOf(invoice.id)).toBe('confirming')
  await node.mine(1)
  await untilStatus(invoice.id, 'paid')
  expect(await eventsOf(invoice.id)).toEqual(['payment_detected', 'confirming', 'paid'])
})

test('one transaction pays two invoices, and two outputs of one transaction pay one', async () => {
  const watcher = await watchAtTip()
  const [first, second, third] = await Promise.all([1, 2, 3].map(() => openInvoice([watcher])))
  if (first === undefined || second === undefined || third === undefined) throw new Error('three were made')
  await node.payMany([{ [first.address]: '1' }, { [second.address]: '1' }])
  await node.payTwice(third.address, ['0.25', '0.75'])
  await node.mine(1)
  for (const { id } of [first, second, third]) await untilStatus(id, 'paid')
  expect(await paymentsOf(third.id)).toEqual(['confirmed', 'confirmed'])
})

test('a payment that no mempool ever showed is found in its block', async () => {
  const watcher = await watchAtTip()
  const invoice = await openInvoice([watcher], { amount: 50n * LTC, confirmations: { LTC: 1 } })
  await node.mine(1, invoice.address)
  await untilStatus(invoice.id, 'confirming')
  const { rows } = await database.owner.query(
    'select confirmations_required as needed from transfer where invoice_id = $1',
    [invoice.id],
  )
  expect(rows).toEqual([{ needed: 100 }])
})

test('a payment whose transaction is replaced by one to elsewhere is taken back', async () => {
  const watcher = await watchAtTip()
  const invoice = await openInvoice([watcher])
  const txid = await node.pay(invoice.address, '1', { replaceable: true })
  await untilStatus(invoice.id, 'payment_detected')
  await node.spendAgain(txid, await node.newAddress())
  await untilStatus(invoice.id, 'awaiting_payment')
  await node.mine(1)
  await untilRead()
  expect(await paymentsOf(invoice.id)).toEqual(['replaced'])
})

test('a payment replaced by another to the same address counts once', async () => {
  const watcher = await watchAtTip()
  const invoice = await openInvoice([watcher])
  const txid = await node.pay(invoice.address, '1', { replaceable: true })
  await untilStatus(invoice.id, 'payment_detected')
  const { txid: bumped } = await node.rpc<{ txid: string }>('bumpfee', [txid])
  await node.mine(1)
  await untilStatus(invoice.id, 'paid')
  const { rows } = await database.owner.query(
    'select txid, status from transfer where invoice_id = $1 order by status',
    [invoice.id],
  )
  await until(async () => (await paymentsOf(invoice.id)).includes('replaced'), {
    what: 'the original is replaced',
  })
  expect(rows).toContainEqual({ txid: bumped, status: 'confirmed' })
})

test('a reorganisation takes a paid invoice to review and back, with the ledger as the chain', async () => {
  const watcher = await watchAtTip()
  const invoice = await openInvoice([watcher])
  const before = await availableBalance()
  await node.pay(invoice.address, '1')
  const [hash] = await node.mine(2)
  await untilStatus(invoice.id, 'paid')
  expect(await availableBalance()).toBe(before + LTC)
  await node.rpc('invalidateblock', [hash])
  await untilStatus(invoice.id, 'manual_review')
  expect(await paymentsOf(invoice.id)).toEqual(['detected'])
  expect(await availableBalance()).toBe(before)
  await node.mine(3)
  await untilStatus(invoice.id, 'paid')
  expect(await availableBalance()).toBe(before + LTC)
  expect(await eventsOf(invoice.id)).toEqual(['payment_detected', 'confirming', 'paid', 'manual_review'])
})

test('a transaction that a reorganisation moves to another block never leaves the invoice', async () => {
  const first = await watchAtTip()
  const invoice = await openInvoice([first])
  await node.pay(invoice.address, '1')
  const [hash] = await node.mine(1)
  await untilStatus(invoice.id, 'paid')
  await first.stop()
  await node.rpc('invalidateblock', [hash])
  await node.mine(4)
  await watchAtTip()
  await untilRead()
  expect(await statusOf(invoice.id)).toBe('paid')
  expect(await eventsOf(invoice.id)).toEqual(['payment_detected', 'confirming', 'paid'])
  const { rows } = await database.owner.query('select block_hash from transfer where invoice_id = $1', [
    invoice.id,
  ])
  expect(rows).not.toEqual([{ block_hash: hash }])
})

test('a double-spend that comes in the other branch of a reorganisation is told as reorged', async () => {
  const watcher = await watchAtTip()
  const invoice = await openInvoice([watcher], { confirmations: { LTC: 2 } })
  const txid = await node.pay(invoice.address, '1')
  const { hex } = await node.rpc<{ hex: string }>('gettransaction', [txid])
  const [hash] = await node.mine(1)
  await untilStatus(invoice.id, 'confirming')
  await watcher.stop()
  const theft = await node.conflictOf(hex)
  await node.rpc('invalidateblock', [hash])
  await node.mineOnly([theft])
  await node.mineOnly([])
  await watchAtTip()
  await untilStatus(invoice.id, 'awaiting_payment')
  expect(await paymentsOf(invoice.id)).toEqual(['reorged'])
})

test('what happened while the watcher was away is told when it comes back, from its checkpoint', async () => {
  const first = await watchAtTip()
  const invoice = await openInvoice([first], { confirmations: { LTC: 6 } })
  await first.stop()
  await node.pay(invoice.address, '1')
  await node.mine(120)
  await watchAtTip()
  await untilStatus(invoice.id, 'paid')
  expect(await eventsOf(invoice.id)).toEqual(['payment_detected', 'confirming', 'paid'])
})

test('a node that stops makes its network unavailable, expires nothing, and is taken up again', async () => {
  const watcher = await watchAtTip()
  const invoice = await openInvoice([watcher])
  const dueSoon = await openInvoice([watcher], { expiresAtMs: Date.now() + 200 })
  await node.stop()
  await until(async () => (await networkState(database, NETWORK)).status === 'unavailable', {
    what: 'the network is unavailable',
  })
  const { reason } = await networkState(database, NETWORK)
  expect(reason).toMatch(/refuses the connection: start it, or correct TEST_LITECOIN_RPC_URL/)
  await until(() => Date.now() > dueSoon.expiresAtMs, { what: 'the deadline has passed' })
  expect(await statusOf(dueSoon.id)).toBe('awaiting_payment')
  await node.start()
  await untilStatus(dueSoon.id, 'expired')
  await node.pay(invoice.address, '1')
  await node.mine(1)
  await untilStatus(invoice.id, 'paid')
  expect((await networkState(database, NETWORK)).status).toBe('ok')
})

test('an invoice past its deadline expires once chain and mempool were read, unless they pay it', async () => {
  const watcher = await watchAtTip()
  const paid = await openInvoice([watcher], { expiresAtMs: Date.now() + 1_500 })
  const unpaid = await openInvoice([watcher], { expiresAtMs: Date.now() + 1_500 })
  await node.pay(paid.address, '1')
  await untilStatus(unpaid.id, 'expired')
  expect(await statusOf(paid.id)).toBe('payment_detected')
  await node.mine(1)
  await untilStatus(paid.id, 'paid')
})

test('of two watchers one follows, and the other takes over when it stops', async () => {
  const first = await watchAtTip()
  const blocks: number[] = []
  const second = watch({ changes: { observer: { onBlock: (_network, height) => blocks.push(height) } } })
  await node.mine(1)
  await untilRead()
  expect(blocks).toEqual([])
  const invoice = await openInvoice([first, second])
  await first.stop()
  await node.pay(invoice.address, '1')
  await node.mine(1)
  await untilStatus(invoice.id, 'paid')
  expect(blocks.length).toBeGreaterThan(0)
})

test('a watcher whose lead connection is cut takes the lead again and goes on', async () => {
  const watcher = await watchAtTip()
  const invoice = await openInvoice([watcher])
  await database.owner.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1`,
    [`paylink-watcher-${NETWORK}`],
  )
  await node.pay(invoice.address, '1')
  await node.mine(1)
  await untilStatus(invoice.id, 'paid')
})

test.each([
  [
    'a wrong password',
    (url: URL) => {
      url.password = 'wrong'
    },
    'unavailable',
    /refuses the user name or password/,
  ],
  [
    'a port where nothing listens',
    (url: URL) => {
      url.port = '1'
    },
    'unavailable',
    /refuses the connection/,
  ],
  [
    'a host name that does not exist',
    (url: URL) => {
      url.hostname = 'nowhere.invalid'
    },
    'unavailable',
    /does not resolve/,
  ],
])('%s leaves the network with a reason that names the mend', async (_what, spoil, status, reason) => {
  const url = new URL(node.rpcUrl)
  spoil(url)
  watch({ rpcUrl: url.toString() })
  await until(async () => reason.test((await stateOrNull())?.reason ?? ''), { what: 'the reason is told' })
  const state = await networkState(database, NETWORK)
  expect(state.status).toBe(status)
  expect(state.reason).toContain('TEST_LITECOIN_RPC_URL')
  expect(state.reason).not.toContain('secret')
})
