import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ChainAdapter } from '../../src/chain/adapter.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { type RecordingParts, recordFacts, TOGETHER_MAX } from '../../src/watcher/record-facts.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { inBlock, makeInvoice } from '../support/invoice.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'

const NETWORK = 'litecoin-test'
const TERM = '11111111-1111-4111-8111-111111111111'
const WHOLE = 100_000_000n
const now = new Date(makeInvoice().createdAtMs + 60_000)
let database: TestDatabase

beforeAll(async () => {
  database = await createTestDatabase()
  await database.owner.query(
    `insert into network_watch (network, keyspace, through, turn, updated_at) values ($1, 'litecoin', -1, $2, now())`,
    [NETWORK, TERM],
  )
})
afterAll(() => database.drop())

function recording(changes: Partial<RecordingParts> = {}) {
  const changed: string[] = []
  const parts: RecordingParts = {
    adapter: { network: NETWORK } as ChainAdapter,
    pool: database.pools.watcher,
    clock: () => now,
    agreement: null,
    notifier: { invoiceChanged: (id) => changed.push(id), deliveriesWaiting: () => {} },
    leadership: { term: TERM, lost: new AbortController().signal },
    ...changes,
  }
  return { parts, changed }
}

async function openInvoices(tenant: Tenant, count: number): Promise<string[]> {
  const ids: string[] = []
  while (ids.length < count) ids.push((await seedInvoice(database, tenant)).id)
  return ids
}

const paid = (tenant: Tenant, invoiceId: string) => ({
  tenant,
  invoiceId,
  facts: [inBlock(`tx of ${invoiceId}`, WHOLE, 2)],
})

/** Invoices by the transaction that wrote what came to them. */
async function transactionsOf(tenant: Tenant): Promise<Map<string, string[]>> {
  const { rows } = await database.owner.query<{ id: string; transaction: string }>(
    `select invoice_id as id, transaction_id::text as transaction from ledger_transfer where merchant_id = $1`,
    [tenant.merchantId],
  )
  const by = new Map<string, string[]>()
  for (const { id, transaction } of rows) by.set(transaction, [...(by.get(transaction) ?? []), id])
  return by
}

const statusesOf = async (tenant: Tenant) =>
  (
    await database.owner.query<{ id: string; status: string; event_count: number }>(
      'select id, status, event_count from invoice where merchant_id = $1 order by id',
      [tenant.merchantId],
    )
  ).rows

test('a few transactions record what a block brings to many invoices of a merchant', async () => {
  const [one, other] = [await seedMerchant(database), await seedMerchant(database)]
  const ids = await openInvoices(one, TOGETHER_MAX + 4)
  const others = await openInvoices(other, 2)
  const { parts, changed } = recording()
  const facts = [...ids.map((id) => paid(one, id)), ...others.map((id) => paid(other, id))]
  await recordFacts(parts, facts, 101)
  expect(changed.toSorted()).toEqual([...ids, ...others].toSorted())
  const groups = [...(await transactionsOf(one)).values()]
  expect(groups.map(({ length }) => length).toSorted()).toEqual([TOGETHER_MAX, 4].toSorted())
  expect(groups.flat().toSorted()).toEqual(ids.toSorted())
  expect([...(await transactionsOf(other)).values()].map(({ length }) => length)).toEqual([2])
  expect((await statusesOf(one)).map(({ status }) => status)).toEqual(ids.map(() => 'paid'))

  // The events of each are numbered by themselves, and sort in their order.
  const events = await database.owner.query<{ sequences: number[] }>(
    `select array_agg(sequence order by id) as sequences from event where merchant_id = $1 group by resource_id`,
    [one.merchantId],
  )
  expect(events.rows).toHaveLength(ids.length)
  for (const { sequences } of events.rows) expect(sequences).toEqual(sequences.toSorted((a, b) => a - b))

  // The same again changes nothing.
  const before = await statusesOf(one)
  const again = recording()
  await recordFacts(again.parts, facts, 101)
  expect([again.changed, await statusesOf(one)]).toEqual([[], before])
})

test('one invoice that cannot be recorded leaves the others of its merchant recorded, and is named', async () => {
  const tenant = await seedMerchant(database)
  const ids = await openInvoices(tenant, 5)
  const missing = newId('invoice', now)
  const { parts, changed } = recording()
  const facts = [...ids.slice(0, 2), missing, ...ids.slice(2)].map((id) => paid(tenant, id))
  await expect(recordFacts(parts, facts, 101)).rejects.toThrow(
    new RegExp(`^what was read for invoice ${missing} cannot be recorded`),
  )
  expect(changed.toSorted()).toEqual(ids.toSorted())
  expect((await statusesOf(tenant)).map(({ status }) => status)).toEqual(ids.map(() => 'paid'))
})

test('of invoices recorded together none is where another process leads', async () => {
  const tenant = await seedMerchant(database)
  const ids = await openInvoices(tenant, 3)
  const { parts, changed } = recording({
    leadership: { term: '22222222-2222-4222-8222-222222222222', lost: new AbortController().signal },
  })
  const facts = ids.map((id) => paid(tenant, id))
  await expect(recordFacts(parts, facts, 101)).rejects.toThrow('another process follows litecoin-test')
  expect(changed).toEqual([])
  expect((await statusesOf(tenant)).map(({ event_count }) => event_count)).toEqual(
    (await statusesOf(tenant)).map(() => 0),
  )
})

test('whoever changes invoices of a merchant one by one meanwhile, in any order, ends no transaction', async () => {
  const tenant = await seedMerchant(database)
  const ids = await openInvoices(tenant, 12)
  const { parts } = recording()
  const descending = ids.toReversed()
  const changing = async () => {
    for (const id of descending)
      await withTransaction(database.pools.api, tenant, (tx) =>
        tx.query('select from invoice where merchant_id = $1 and id = $2 for update', [
          tenant.merchantId,
          id,
        ]),
      )
  }
  const halves = [ids.slice(0, 8), descending.slice(0, 8)]
  await Promise.all([
    changing(),
    ...halves.map((half) =>
      recordFacts(
        parts,
        half.map((id) => paid(tenant, id)),
        101,
      ),
    ),
  ])
  expect((await statusesOf(tenant)).map(({ status }) => status)).toEqual(ids.map(() => 'paid'))
})
