import { afterAll, beforeAll, expect, test } from 'vitest'
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
