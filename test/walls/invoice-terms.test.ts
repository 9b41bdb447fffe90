import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
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
