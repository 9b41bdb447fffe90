import { afterAll, beforeAll, expect, test } from 'vitest'
import { openPool, type Pool } from '../src/postgres/pool.ts'
import { withSystemTransaction, withTransaction } from '../src/postgres/transaction.ts'
import { newId } from '../src/runtime/new-id.ts'
import { createTestDatabase, type TestDatabase } from './support/database.ts'
import { seedMerchant } from './support/seed.ts'

const ROUNDS = 3_000
const CANCELLERS = 3

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  await database.owner.query('create table probe (id int)')
})
afterAll(() => database.drop())

/** Runs transactions that always roll back, while their connection is told to cancel what it does. */
async function underCancels(
  pool: Pool,
  transaction: (round: number) => Promise<unknown>,
): Promise<{ cancelled: number }> {
  let cancelled = 0
  let isDone = false
  const cancelling = Array.from({ length: CANCELLERS }, async () => {
    while (!isDone) {
      await database.owner.query(
        `select pg_cancel_backend(pid) from pg_stat_activity where application_name = 'cancelled'`,
      )
    }
  })
  for (let round = 0; round < ROUNDS; round++) {
    try {
      await transaction(round)
    } catch (error) {
      if (String(error).includes('cancel')) cancelled += 1
    }
  }
  isDone = true
  await Promise.all(cancelling)
  await pool.end()
  return { cancelled }
}

const onePool = (connectionString: string, guarded: boolean) =>
  openPool({ connectionString, applicationName: 'cancelled', max: 1, onError: () => {}, guarded })

test('a statement whose begin was cancelled is not committed by itself', async () => {
  const pool = onePool(database.ownerUrl, false)
  const { cancelled } = await underCancels(pool, (round) =>
    withSystemTransaction(pool, async (tx) => {
      await tx.query('insert into probe values ($1)', [round])
      throw new Error('rolled back')
    }),
  )
  expect(cancelled).toBeGreaterThan(0)
  expect((await database.owner.query('select id from probe')).rows).toEqual([])
})

test('nor is one that travels with its begin, as the API sends it: row level security stops it', async () => {
  const tenant = await seedMerchant(database)
  const pool = onePool(database.urls.api, true)
  const { cancelled } = await underCancels(pool, () =>
    withTransaction(pool, tenant, async (tx) => {
      await tx.query(
        `insert into webhook_endpoint (merchant_id, id, livemode, url, subscribed_events, status, created_at)
         values ($1, $2, $3, 'https://shop.example', '{*}', 'enabled', now())`,
        [tenant.merchantId, newId('webhookEndpoint', new Date()), tenant.livemode],
      )
      throw new Error('rolled back')
    }),
  )
  expect(cancelled).toBeGreaterThan(0)
  expect((await database.owner.query('select id from webhook_endpoint')).rows).toEqual([])
})
