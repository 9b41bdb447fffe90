import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TransferFact } from '../../src/core/invoice/types.ts'
import { loadInvoice } from '../../src/db/invoices/invoices.ts'
import { loadBalances } from '../../src/db/ledger/ledger.ts'
import { expireInvoices } from '../../src/flows/expire-invoices.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import type { Tenant } from '../../src/postgres/transaction.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { inBlock, inMempool, makeInvoice } from '../support/invoice.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'

const WHOLE = 100_000_000n
let database: TestDatabase
let tenant: Tenant
const clock = () => new Date(makeInvoice().createdAtMs + 60_000)

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

async function freshInvoice() {
  tenant = await seedMerchant(database)
  return seedInvoice(database, tenant)
}

const record = (invoiceId: string, ...facts: TransferFact[]) =>
  recordTransfers({ pool: database.pools.watcher, clock }, { tenant, invoiceId, facts, tipHeight: 101 })

async function eventsOf(resourceId: string) {
  const { rows } = await database.owner.query<{ event_type: string; sequence: number; body: Buffer }>(
    'select event_type, sequence, body from event where resource_id = $1 order by sequence',
    [resourceId],
  )
  return rows
}

async function balances(): Promise<Record<string, bigint>> {
  const rows = await withTransaction(database.owner, tenant, (tx) => loadBalances(tx, tenant))
  return Object.fromEntries(rows.map((row) => [row.account, row.balance]))
}

test('transfer, invoice, ledger and events are committed together, by the watcher role', async () => {
  const invoice = await freshInvoice()
  await record(invoice.id, inMempool('a1', WHOLE))
  await record(invoice.id, inBlock('a1', WHOLE, 1))
  expect(await balances()).toEqual({ chain: -WHOLE, pending: WHOLE })
  await record(invoice.id, inBlock('a1', WHOLE, 2))
  expect(await balances()).toEqual({ chain: -WHOLE, pending: 0n, available: WHOLE })
  const events = await eventsOf(invoice.id)
  expect(events.map((event) => [event.sequence, event.event_type])).toEqual([
    [1, 'invoice.payment_detected'],
    [2, 'invoice.confirming'],
    [3, 'invoice.paid'],
  ])
  const paid = JSON.parse(String(events[2]?.body))
  expect(paid).toMatchObject({
    schema_version: 1,
    event_type: 'invoice.paid',
    merchant_id: tenant.merchantId,
    resource_id: invoice.id,
    livemode: false,
    sequence: 3,
    data: { id: invoice.id, status: 'paid', amount_confirmed: '1', payments: [{ confirmations: 2 }] },
  })
  expect(paid.data).not.toHaveProperty('checkout_url')
})

test('events that are written in one commit are listed in the order in which they happened', async () => {
  const invoice = await freshInvoice()
  await record(invoice.id, inBlock('d1', WHOLE, 2), inBlock('d2', WHOLE, 2, { asset: 'BTC' }))
  const { rows } = await database.owner.query<{ sequence: number }>(
    'select sequence from event where resource_id = $1 order by id collate "C"',
    [invoice.id],
  )
  expect(rows.map((row) => row.sequence)).toEqual([1, 2, 3, 4])
})

test('the same facts reported by many at once are recorded once', async () => {
  const invoice = await freshInvoice()
  const facts = [inBlock('b1', WHOLE / 2n, 2), inBlock('b2', WHOLE / 2n, 2)]
  const results = await Promise.all(Array.from({ length: 8 }, () => record(invoice.id, ...facts)))
  expect(results.filter((result) => result.changed)).toHaveLength(1)
  expect((await eventsOf(invoice.id)).map((event) => event.event_type)).toEqual([
    'invoice.payment_detected',
    'invoice.confirming',
    'invoice.paid',
  ])
  expect(await balances()).toMatchObject({ available: WHOLE })
})

test('a payment that the chain takes back leaves the ledger as if it had never been', async () => {
  const invoice = await freshInvoice()
  await record(invoice.id, inBlock('c1', WHOLE, 2))
  await record(invoice.id, inMempool('c1', WHOLE))
  expect(await balances()).toEqual({ chain: 0n, available: 0n })
  const stored = await withTransaction(database.owner, tenant, (tx) => loadInvoice(tx, tenant, invoice.id))
  expect(stored?.invoice.payments[0]).toMatchObject({ status: 'detected', block: null, bucket: 'none' })
})

test('an event without an eligible endpoint awaits delivery; one with an endpoint is queued for it', async () => {
  const invoice = await freshInvoice()
  await record(invoice.id, inMempool('d1', WHOLE))
  await database.owner.query(
    `insert into webhook_endpoint (merchant_id, id, livemode, url, subscribed_events, status, verified_at, created_at)
     values ($1, 'we_all', false, 'https://a.example', '{*}', 'enabled', now(), now()),
            ($1, 'we_paid', false, 'https://b.example', '{invoice.paid}', 'enabled', now(), now()),
            ($1, 'we_live', true, 'https://c.example', '{*}', 'enabled', now(), now()),
            ($1, 'we_unverified', false, 'https://d.example', '{*}', 'pending_verification', null, now())`,
    [tenant.merchantId],
  )
  await record(invoice.id, inBlock('d1', WHOLE, 2))
  const awaiting = await database.owner.query('select from event_awaiting where merchant_id = $1', [
    tenant.merchantId,
  ])
  expect(awaiting.rowCount).toBe(1)
  const { rows } = await database.owner.query<{ endpoint_id: string; event_type: string }>(
    `select endpoint_id, event_type from delivery join event on event.id = event_id
     where delivery.merchant_id = $1 order by sequence, endpoint_id`,
    [tenant.merchantId],
  )
  expect(rows).toEqual([
    { endpoint_id: 'we_all', event_type: 'invoice.confirming' },
    { endpoint_id: 'we_all', event_type: 'invoice.paid' },
    { endpoint_id: 'we_paid', event_type: 'invoice.paid' },
  ])
})

test('an invoice expires after a full reading past its deadline, once', async () => {
  const invoice = await freshInvoice()
  const deps = { pool: database.pools.watcher, clock }
  const tipHash = 'b'.repeat(64)
  const reading = { network: 'litecoin-test' as const, tipHeight: 101, tipHash, providers: ['node'] }
  expect(await expireInvoices(deps, { ...reading, readAtMs: invoice.expiresAtMs })).not.toContain(invoice.id)
  expect(await expireInvoices(deps, { ...reading, readAtMs: invoice.expiresAtMs + 1 })).toContain(invoice.id)
  expect(await expireInvoices(deps, { ...reading, readAtMs: invoice.expiresAtMs + 2 })).not.toContain(
    invoice.id,
  )
  const events = await eventsOf(invoice.id)
  expect(events.map((event) => event.event_type)).toEqual(['invoice.expired'])
  const { rows } = await database.owner.query<{ body: Buffer }>(
    `select body from event where resource_id = $1 and event_type = 'invoice.expired'`,
    [invoice.id],
  )
  expect(JSON.parse(String(rows[0]?.body)).data.expiry_reading).toEqual({
    network: 'litecoin-test',
    tip_height: 101,
    tip_hash: tipHash,
    read_at: new Date(invoice.expiresAtMs + 1).toISOString(),
    providers: ['node'],
    others: [],
  })
})
