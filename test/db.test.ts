import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPool } from '../src/db/pool.ts'
import { withTransaction } from '../src/db/transaction.ts'
import { newId } from '../src/new-id.ts'
import { createTestDatabase, type TestDatabase } from './support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('the API role sees nothing of a merchant that its transaction does not name', async () => {
  const merchantId = newId('merchant', new Date())
  await database.owner.query(`insert into merchant values ($1, 'Shop', 'a@example.com', now())`, [merchantId])
  await database.owner.query(`insert into payment_rules values ($1, false, '{}', now())`, [merchantId])
  const count = (tenant: { merchantId: string; livemode: boolean }) =>
    withTransaction(
      database.pools.api,
      tenant,
      async (tx) => (await tx.query('select from payment_rules')).rowCount,
    )
  expect(await count({ merchantId, livemode: false })).toBe(1)
  expect(await count({ merchantId, livemode: true })).toBe(0)
  expect(await count({ merchantId: newId('merchant', new Date()), livemode: false })).toBe(0)
})

const TENANT = { merchantId: newId('merchant', new Date()), livemode: false }

test('a transaction that PostgreSQL rolled back is never taken for committed', async () => {
  const swallowed = withTransaction(database.owner, TENANT, async (tx) => {
    await tx.query('select 1 / 0').catch(() => {})
    return 'done'
  })
  await expect(swallowed).rejects.toThrow('rolled back')
})

test('a connection whose prepared statements a migration has outdated is given up', async () => {
  const pool = openPool({
    connectionString: database.ownerUrl,
    applicationName: 'paylink-test',
    max: 1,
    onError: () => {},
  })
  try {
    await database.owner.query('create table outdated (id int)')
    const read = () =>
      withTransaction(pool, TENANT, async (tx) => (await tx.query('select * from outdated')).fields)
    expect(await read()).toHaveLength(1)
    await database.owner.query('alter table outdated add column name text')
    await expect(read()).rejects.toThrow('cached plan must not change result type')
    expect(await read()).toHaveLength(2)
  } finally {
    await pool.end()
  }
})
