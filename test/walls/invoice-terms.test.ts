import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { inMempool } from '../support/invoice.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'

/** What an advance writes. Every other column, one that a migration adds too, is refused. */
const WRITTEN_BY_WATCHERS = [
  'accepted_at',
  'announced',
  'cancelled_at',
  'event_count',
  'expired_at',
  'expiry_reading',
  'paid_at',
  'reorg_dismissed',
  'status',
]

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test("with the watcher's login nobody changes what an invoice asks for, or where it is paid", async () => {
  const invoice = await seedInvoice(database, await seedMerchant(database))
  const { rows } = await database.owner.query<{ name: string }>(
    `select column_name as name from information_schema.columns
     where table_schema = 'public' and table_name = 'invoice' order by column_name`,
  )
  const written: string[] = []
  for (const { name } of rows) {
    try {
      await database.pools.watcher.query(`update invoice set ${name} = ${name} where id = $1`, [invoice.id])
      written.push(name)
    } catch (error) {
      expect(String(error)).toContain('permission denied')
    }
  }
  expect(written).toEqual(WRITTEN_BY_WATCHERS)
})

test("with the watcher's login nobody changes or adds a deposit address that an invoice has", async () => {
  const invoice = await seedInvoice(database, await seedMerchant(database))
  for (const statement of [
    `update deposit_address set address = 'theirs' where invoice_id = '${invoice.id}'`,
    `delete from deposit_address where invoice_id = '${invoice.id}'`,
    `insert into deposit_address select * from deposit_address where invoice_id = '${invoice.id}'`,
    `update address set address = 'theirs'`,
    `update account_key set xpub = 'theirs'`,
    `insert into address_batch select * from address_batch`,
  ]) {
    await expect(database.pools.watcher.query(statement), statement).rejects.toThrow('permission denied')
  }
})

/** What the API's login may change of an invoice, or of a payment, in a live shop. */
async function changedByTheApi(table: 'invoice' | 'transfer', tenant: Tenant): Promise<string[]> {
  const { rows } = await database.owner.query<{ name: string; type: string }>(
    `select column_name as name, data_type as type from information_schema.columns
     where table_schema = 'public' and table_name = $1 order by column_name`,
    [table],
  )
  const changed: string[] = []
  for (const { name, type } of rows) {
    const attempt = withTransaction(database.pools.api, tenant, (tx) =>
      tx.query(`update ${table} set ${name} = ${otherValue(name, type)}`),
    )
    const failure = await attempt.then(
      ({ rowCount }) => (rowCount === 1 ? null : 'no row'),
      (error: unknown) => String(error),
    )
    if (failure === null) changed.push(name)
    else expect(failure, name).toMatch(/permission denied|may not write|violates|row-level security/)
  }
  return changed
}

function otherValue(name: string, type: string): string {
  if (type === 'boolean') return `not ${name}`
  if (type.startsWith('timestamp')) return `coalesce(${name}, now()) - interval '1 day'`
  if (/numeric|integer|bigint/.test(type)) return `coalesce(${name}, 0) + 1`
  if (type.startsWith('json')) return `'[]'`
  return type === 'bytea' ? `'\\x01'` : `'other'`
}

test("with the API's login nobody changes what the chain says of a payment, or when a live invoice ends", async () => {
  const tenant = await seedMerchant(database, true)
  const invoice = await seedInvoice(database, tenant)
  const fact = { ...inMempool('c1', 100_000_000n), network: 'litecoin-live' as const }
  await recordTransfers(
    { pool: database.pools.watcher, clock: () => new Date() },
    { tenant, invoiceId: invoice.id, facts: [fact], tipHeight: 100 },
  )
  expect(await changedByTheApi('transfer', tenant)).toEqual([
    'ledger_bucket',
    'ledger_postings',
    'resolution',
  ])
  expect(await changedByTheApi('invoice', tenant)).toEqual([
    'accepted_at',
    'address',
    'also_accepts',
    'amount',
    'announced',
    'asset',
    'asset_picked',
    'cancelled_at',
    'confirmations',
    'event_count',
    'expiry_reading',
    'paid_at',
    'rate',
    'reorg_dismissed',
    'status',
    'tolerance_over',
    'tolerance_under',
    'visit_digest',
  ])
})

test("with the API's login nobody says that a node has tried what a payer signed, or seen it on the chain", async () => {
  const tenant = await seedMerchant(database)
  const { merchantId } = tenant
  const write = (statement: string, values: unknown[]) =>
    withTransaction(database.pools.api, tenant, (tx) => tx.query(statement, values))
  const insert = async (id: string, status: string) =>
    write(
      `insert into x402_authorization (merchant_id, id, livemode, invoice_id, network, payer, recipient, key_index, value,
         valid_after, valid_before, nonce, signature, status, txid, created_at)
       values ($1, $2, false, $3, 'base-test', $4, $4, 0, 1, 0, 9999999999, $5, $6, $7, 'x', now())`,
      [merchantId, id, (await seedInvoice(database, tenant)).id, ...bytes, status],
    )
  const bytes = [Buffer.alloc(20), Buffer.alloc(32), Buffer.alloc(65)]
  for (const status of ['checked', 'settled'])
    await expect(insert(`x402_${status}`, status), status).rejects.toThrow('the API may not write')
  await insert('x402_1', 'waiting')
  const update = 'update x402_authorization set status = $1, reason = $2, done_at = now()'
  for (const status of ['checked', 'settled'])
    await expect(write(update, [status, null]), status).rejects.toThrow('the API may not write')
  expect((await write(update, ['refused', 'x'])).rowCount).toBe(1)
  await expect(write(update, ['waiting', null])).rejects.toThrow('the API may not write')
})
