import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { moveCheckpoint, startCheckpoint } from '../src/db/chain/network-state.ts'
import { beginSecondReading, lowerSecondReading, moveSecondReading } from '../src/db/chain/second-reading.ts'
import { openPool } from '../src/postgres/pool.ts'
import { withOneMoment, withTransaction } from '../src/postgres/transaction.ts'
import { newId } from '../src/runtime/new-id.ts'
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
  // A process prepares the first statements that it uses, and this one may have used many.
  vi.resetModules()
  const fresh = await import('../src/postgres/transaction.ts')
  const pool = openPool({
    connectionString: database.ownerUrl,
    applicationName: 'paylink-test',
    max: 1,
    onError: () => {},
  })
  try {
    await database.owner.query('create table outdated (id int)')
    const read = () =>
      fresh.withTransaction(pool, TENANT, async (tx) => (await tx.query('select * from outdated')).fields)
    expect(await read()).toHaveLength(1)
    await database.owner.query('alter table outdated add column name text')
    await expect(read()).rejects.toThrow('cached plan must not change result type')
    expect(await read()).toHaveLength(2)
  } finally {
    await pool.end()
  }
})

test("reads of one moment outlast the pool's statement limit, see nothing newer, and write nothing", async () => {
  const pool = openPool({
    connectionString: database.ownerUrl,
    applicationName: 'paylink-test',
    max: 1,
    onError: () => {},
    answerMsMax: 1_000,
  })
  try {
    const merchants = 'select count(*)::int as count from merchant'
    await withOneMoment(pool, 1, async (tx) => {
      const before = await tx.query(merchants)
      const late = newId('merchant', new Date())
      await database.owner.query(`insert into merchant values ($1, 'Late', 'b@example.com', now())`, [late])
      await tx.query('select pg_sleep(1.5)')
      expect((await tx.query(merchants)).rows).toEqual(before.rows)
    })
    const write = withOneMoment(pool, 1, (tx) => tx.query('delete from merchant'))
    await expect(write).rejects.toThrow('read-only transaction')
    await expect(pool.query('select pg_sleep(1.5)')).rejects.toThrow('Query read timeout')
  } finally {
    await pool.end()
  }
})

test('a second reading begins at one block, however far the checkpoint went before, and follows it down', async () => {
  const block = (height: number) => ({ height, hash: `block ${height}`, timeMs: height })
  const now = new Date('2026-11-21T12:00:00Z')
  const start = { parameters: 'regtest', chain: null, block: block(4), beforeHash: null, now }
  await withTransaction(database.owner, TENANT, (tx) => startCheckpoint(tx, 'base-test', start))
  const move = (from: number, to: number) =>
    withTransaction(database.owner, TENANT, (tx) =>
      moveCheckpoint(tx, 'base-test', block(from), block(to), now),
    )
  expect([await move(4, 5), await move(5, 6)]).toEqual([true, true])
  const begun = { height: 6, hash: 'block 6' }
  expect(await beginSecondReading(database.owner, 'base-test')).toEqual(begun)
  expect(await move(6, 8)).toBe(true)
  expect(await beginSecondReading(database.owner, 'base-test')).toEqual(begun)
  expect(await moveSecondReading(database.owner, 'base-test', begun, block(8))).toBe(true)
  expect(await move(8, 7)).toBe(true)
  expect(await beginSecondReading(database.owner, 'base-test')).toEqual({ height: 7, hash: 'block 7' })
  await lowerSecondReading(database.owner, 'base-test', block(5))
  expect(await beginSecondReading(database.owner, 'base-test')).toEqual({ height: 5, hash: 'block 5' })
})
