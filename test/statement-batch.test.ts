import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { openPool, type Pool } from '../src/postgres/pool.ts'
import { Rows } from '../src/postgres/rows.ts'
import { isRefusal, type Tx, withStatementBatch, withTransaction } from '../src/postgres/transaction.ts'
import { newId } from '../src/runtime/new-id.ts'
import { createTestDatabase, type TestDatabase } from './support/database.ts'
import { seedMerchant } from './support/seed.ts'

let database: TestDatabase
let pool: Pool
beforeAll(async () => {
  database = await createTestDatabase()
  await database.owner.query('create table probe (id int primary key deferrable initially deferred)')
  await database.owner.query(`create function refuse() returns void language plpgsql as $$
    begin raise exception 'no' using errcode = 'PL001'; end $$`)
  pool = openBatchPool()
})
const openBatchPool = (): Pool =>
  openPool({ connectionString: database.ownerUrl, applicationName: 'batches', max: 1, onError: () => {} })
beforeEach(() => database.owner.query('delete from probe'))
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const TENANT = { merchantId: newId('merchant', new Date()), livemode: false }
const INSERT = 'insert into probe values ($1)'
const kept = async () =>
  (await database.owner.query<{ id: number }>('select id from probe order by id')).rows.map(({ id }) => id)
const backend = async () => (await pool.query('select pg_backend_pid() as pid')).rows[0].pid

test('statements of a batch are one transaction, and each has its own answer', async () => {
  for (const [first, second] of [
    [1, 2],
    [3, 4],
  ]) {
    const answers = await withStatementBatch(pool, TENANT, async (tx) => [
      tx.query(INSERT, [first]),
      tx.query('select id, xmin::text from probe where id = $1', [first]),
      tx.query(INSERT, [second]),
      tx.query('select pg_current_xact_id_if_assigned()::xid::text as xmin'),
    ])
    const [inserted, found, , current] = await Promise.all(answers)
    expect([inserted?.rowCount, found?.rows[0]?.id]).toEqual([1, first])
    expect(found?.rows).toEqual([{ id: first, xmin: current?.rows[0]?.xmin }])
  }
  expect(await kept()).toEqual([1, 2, 3, 4])
})

test('where one statement fails, at once or at the commit, nothing is kept and the next batch works', async () => {
  const failing = (text: string, values: unknown[]) =>
    withStatementBatch(pool, TENANT, async (tx) => {
      void tx.query(INSERT, [1])
      void tx.query(text, values)
      void tx.query('select count(*) from probe where id > $1', [newId.length])
    })
  await expect(failing('select 1 / $1::int', [0])).rejects.toThrow('division by zero')
  await expect(failing(INSERT, [1])).rejects.toThrow('duplicate key')
  await withStatementBatch(pool, TENANT, async (tx) => void tx.query(INSERT, [2]))
  expect(await kept()).toEqual([2])
})

test('a refusal keeps the connection, whose statements are sent whole the next time', async () => {
  const before = await backend()
  const refused = withStatementBatch(pool, TENANT, async (tx) => {
    void tx.query('select refuse()')
    void tx.query('insert into probe select $1::int', [5])
  })
  expect(isRefusal(await refused.catch((error: unknown) => error), 'keyNotFresh')).toBe(true)
  await withStatementBatch(pool, TENANT, async (tx) => void tx.query('insert into probe select $1::int', [6]))
  expect([await kept(), await backend()]).toEqual([[6], before])
})

test('a batch is one transaction also once more statements were used than are kept prepared', async () => {
  vi.resetModules()
  const fresh = await import('../src/postgres/transaction.ts')
  const freshPool = openBatchPool()
  await fresh.withTransaction(freshPool, TENANT, async (tx) => {
    for (let used = 0; used < 600; used++) await tx.query(`select ${used} as n`)
  })
  const refused = fresh.withStatementBatch(freshPool, TENANT, async (tx) => {
    void tx.query('insert into probe values (7)')
    void tx.query('select 1 as n')
    void tx.query('select refuse()')
  })
  await expect(refused).rejects.toThrow('no')
  await freshPool.end()
  expect(await kept()).toEqual([])
})

test('a value that cannot be sent commits nothing, before or after it', async () => {
  const circle: { self?: unknown } = {}
  circle.self = circle
  const sent = withStatementBatch(pool, TENANT, async (tx) => {
    void tx.query(INSERT, [1])
    void tx.query('insert into probe select length($1::text)', [circle])
    void tx.query(INSERT, [2])
  })
  await expect(sent).rejects.toThrow()
  expect(await kept()).toEqual([])
  await withStatementBatch(pool, TENANT, async (tx) => void tx.query(INSERT, [3]))
  expect(await kept()).toEqual([3])
})

test('nothing is sent where gathering fails', async () => {
  const gathered = withStatementBatch(pool, TENANT, async (tx) => {
    void tx.query(INSERT, [1])
    throw new Error('no')
  })
  await expect(gathered).rejects.toThrow('no')
  expect(await kept()).toEqual([])
})

test('a connection that is cut off in the middle of a batch commits nothing, and is replaced', async () => {
  const pid = await backend()
  const slow = withStatementBatch(pool, TENANT, async (tx) => {
    void tx.query(INSERT, [1])
    void tx.query('select pg_sleep(10)')
  })
  slow.catch(() => {})
  await database.owner.query(`select pg_terminate_backend($1) from pg_sleep(0.2)`, [pid])
  await expect(slow).rejects.toThrow()
  expect(await kept()).toEqual([])
  await withStatementBatch(pool, TENANT, async (tx) => void tx.query(INSERT, [2]))
  expect(await kept()).toEqual([2])
})

test('a transaction fails with the error of its statement at fault, not of those that follow it', async () => {
  const sentTogether = withTransaction(pool, TENANT, (tx) => {
    // Its caller learns of it a few steps later than of the next one.
    const written = Promise.all([Promise.all([tx.query('select 1 / $1::int', [0])])]).then(() => null)
    return Promise.all([written, tx.query('select 1')])
  })
  await expect(sentTogether).rejects.toThrow('division by zero')
  const goneOn = withTransaction(pool, TENANT, async (tx) => {
    await tx.query('select $1::text::int', ['a']).catch(() => {})
    await tx.query('select 1')
  })
  await expect(goneOn).rejects.toThrow('invalid input syntax')
})

const INSERT_ROWS =
  'insert into probe select id from json_to_recordset($1) as row (id int) returning xmin::text'
/** So many batches at once, one by one the `i`-th with what `gather(i)` asks for; those after the second wait for these. */
const atOnce = (count: number, gather: (tx: Tx, i: number) => unknown) =>
  Promise.allSettled(
    Array.from({ length: count }, (_, i) =>
      withStatementBatch(pool, TENANT, async (tx) => void gather(tx, i)),
    ),
  )

test('batches that wait for others of their tenant become one transaction, and one statement of their rows', async () => {
  const answers: Promise<{ rows: { xmin: string }[] }>[] = []
  const ended = await atOnce(6, (tx, i) => {
    if (i % 2 === 0) void tx.query('select $1::int as before', [i])
    answers.push(tx.query<{ xmin: string }>(INSERT_ROWS, [new Rows([{ id: i }])]))
  })
  expect(ended.map(({ status }) => status)).toEqual(Array(6).fill('fulfilled'))
  expect(await kept()).toEqual([0, 1, 2, 3, 4, 5])
  const written = (await Promise.all(answers)).map(({ rows }) => rows.map(({ xmin }) => xmin))
  // Those of the same statements are answered together.
  expect(written.map((rows) => rows.length)).toEqual([1, 1, 2, 2, 2, 2])
  expect(new Set(written.flat()).size).toBe(3)
})

test('where one batch of a group fails, at once or at the commit, it alone does', async () => {
  const twice = await atOnce(6, (tx, i) => tx.query(INSERT, [i === 4 ? 3 : i]))
  expect(twice.map(({ status }) => status === 'fulfilled')).toEqual([true, true, true, true, false, true])
  expect(await kept()).toEqual([0, 1, 2, 3, 5])
  const refused = await atOnce(6, (tx, i) => {
    void tx.query(INSERT, [10 + i])
    if (i === 2) void tx.query('select refuse()')
  })
  expect(refused.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, true, true, true])
  expect((await kept()).slice(5)).toEqual([10, 11, 13, 14, 15])
  const tooLong = await atOnce(6, (tx, i) => {
    void tx.query(INSERT, [20 + i])
    if (i === 3) void tx.query('select repeat($1, 2000000)::tsvector', ['x'])
  })
  expect(tooLong.map(({ status }) => status === 'fulfilled')).toEqual([true, true, true, false, true, true])
})

test('batches beside a refused one still share their commits, and the connection is kept', async () => {
  const before = await backend()
  const ended = await atOnce(18, (tx, i) => {
    void tx.query('insert into probe values ($1) returning xmin::text', [i])
    // The second has this id, and has committed.
    if (i === 7) void tx.query(INSERT, [1])
  })
  expect(ended.flatMap(({ status }, i) => (status === 'fulfilled' ? [] : [i]))).toEqual([7])
  const { rows } = await database.owner.query<{ ids: number[] }>(
    'select array_agg(id order by id) as ids from probe group by xmin::text order by min(id)',
  )
  // Two by themselves, and of the group of sixteen those that did not meet the refused one again.
  expect(rows.map(({ ids }) => ids)).toEqual([
    [0],
    [1],
    [2, 3, 4, 5],
    [6],
    [8, 9],
    [10, 11, 12, 13, 14, 15, 16, 17],
  ])
  expect(await backend()).toBe(before)
})

test('a connection that is cut off under a group fails all of it, and sends none of it again', async () => {
  const ended = await atOnce(5, (tx, i) => {
    void tx.query(INSERT, [i])
    if (i === 3) void tx.query('select pg_terminate_backend(pg_backend_pid())')
  })
  expect(ended.map(({ status }) => status === 'fulfilled')).toEqual([true, true, false, false, false])
  expect(await kept()).toEqual([0, 1])
})

test('batches of different tenants never share a transaction', async () => {
  const other = { merchantId: newId('merchant', new Date()), livemode: false }
  const SEEN = `select current_setting('paylink.merchant_id') as merchant, pg_current_xact_id()::text as xact`
  const seen = await Promise.all(
    Array.from({ length: 8 }, async (_, i) => {
      const tenant = i % 2 === 0 ? TENANT : other
      const { found } = await withStatementBatch(pool, tenant, async (tx) => ({
        found: tx.query<{ merchant: string; xact: string }>(SEEN),
      }))
      const row = (await found).rows[0]
      expect(row?.merchant).toBe(tenant.merchantId)
      return `${row?.merchant} ${row?.xact}`
    }),
  )
  expect(new Set(seen.map((one) => one.split(' ')[1])).size).toBe(new Set(seen).size)
})

test('row level security shows a batch the rows of its own merchant and mode, and no later one any', async () => {
  const { merchantId } = await seedMerchant(database)
  await database.owner.query(
    `insert into payment_rules values ($1, false, '{}', now()) on conflict do nothing`,
    [merchantId],
  )
  const count = async (tenant: typeof TENANT) => {
    const { found } = await withStatementBatch(database.pools.api, tenant, async (tx) => ({
      found: tx.query('select from payment_rules'),
    }))
    return (await found).rowCount
  }
  expect(await count({ merchantId, livemode: false })).toBe(1)
  expect(await count({ merchantId, livemode: true })).toBe(0)
  expect(await count(TENANT)).toBe(0)
  expect((await database.pools.api.query('select from payment_rules')).rowCount).toBe(0)
  const other = await withTransaction(database.pools.api, TENANT, (tx) =>
    tx.query('select from payment_rules'),
  )
  expect(other.rowCount).toBe(0)
})
