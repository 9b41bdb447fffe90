import { readFile } from 'node:fs/promises'
import { gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { runAudit } from '../src/audit/run-audit.ts'
import { insertLedgerTransfers } from '../src/db/ledger/ledger.ts'
import { latestMigration, migrate } from '../src/postgres/migrate.ts'
import { type Tenant, type Tx, withTransaction } from '../src/postgres/transaction.ts'
import { createTestDatabase, type TestDatabase } from './support/database.ts'
import { seedMerchant } from './support/seed.ts'

/**
 * A small shop's life as an earlier program wrote it: seven invoices in five coins, paid, partly paid and open, two payouts
 * that arrived, a sweep, and their events and postings. Its lines are a table's name, a tab, and a row in JSON.
 */
const LIFE = new URL('./support/life-at-0074.tsv.gz', import.meta.url)
const EARLIER = 74
/** The newest before those that are applied beside a service at work. */
const BEFORE_FEES_LEFT = 100

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase(inject('postgresUrl'), 'template1')
})
afterAll(() => database.drop())

async function liveEarlier(): Promise<string[]> {
  const lines = gunzipSync(await readFile(LIFE))
    .toString()
    .trim()
    .split('\n')
  const rowsOf = new Map<string, string[]>()
  for (const line of lines) {
    const [table = '', row = ''] = line.split('\t')
    rowsOf.set(table, [...(rowsOf.get(table) ?? []), row])
  }
  const client = await database.owner.connect()
  try {
    // What wrote it checked and counted it: neither triggers nor foreign keys run once more.
    await client.query('set session_replication_role = replica')
    for (const [table, rows] of rowsOf) {
      await client.query(`delete from ${table}`)
      await client.query(
        `insert into ${table} select * from json_populate_recordset(null::${table}, $1::json)`,
        [`[${rows.join(',')}]`],
      )
    }
  } finally {
    client.release(true)
  }
  return [...rowsOf.keys()]
}

/** Every row, in the columns given for its table. */
async function rowsIn(columnsOf: ReadonlyMap<string, readonly string[]>) {
  const found = new Map<string, string[]>()
  for (const [table, columns] of columnsOf) {
    const { rows } = await database.owner.query<{ row: string }>(
      `select row_to_json(kept)::text as row from (select ${columns.join(', ')} from ${table}) kept order by 1`,
    )
    found.set(
      table,
      rows.map(({ row }) => row),
    )
  }
  return found
}

async function columnsOf(tables: readonly string[]): Promise<Map<string, string[]>> {
  const { rows } = await database.owner.query<{ table_name: string; columns: string[] }>(
    `select table_name, array_agg(quote_ident(column_name)::text order by ordinal_position) as columns
     from information_schema.columns where table_schema = 'public' and table_name = any($1) group by 1`,
    [tables],
  )
  return new Map(rows.map(({ table_name, columns }) => [table_name, columns]))
}

test('a database of an earlier release is brought up to date with all that was in it, and its books agree', async () => {
  await migrate(database.ownerUrl, { through: EARLIER })
  const tables = await liveEarlier()
  const columns = await columnsOf(tables)
  const before = await rowsIn(columns)
  expect([before.get('invoice')?.length, before.get('payout')?.length, before.get('event')?.length]).toEqual([
    7, 2, 30,
  ])

  expect((await migrate(database.ownerUrl)).length).toBeGreaterThanOrEqual(8)
  const { rows } = await database.owner.query('select max(version) as newest from schema_migration')
  expect(rows).toEqual([{ newest: await latestMigration() }])
  expect(await rowsIn(columns)).toEqual(before)
  const priced = 'select from invoice where num_nonnulls(price_amount, price_currency, price_rate) > 0'
  expect((await database.owner.query(priced)).rowCount).toBe(0)
  const checks = await runAudit(database.owner, [])
  expect(checks.length).toBeGreaterThan(20)
  expect(checks.filter(({ findings }) => findings.length > 0)).toEqual([])
  // No node was given to ask about the payments.
  const notChecked = checks.filter((check) => check.notChecked !== null).map(({ name }) => name)
  expect(notChecked.filter((name) => !name.startsWith('chain_'))).toEqual([])
})

const post = (tx: Tx, tenant: Tenant): Promise<unknown> =>
  insertLedgerTransfers(tx, tenant, [
    {
      id: 'dep:litecoin-test:tx:0:1',
      kind: 'deposit',
      invoiceId: null,
      paymentId: null,
      asset: 'LTC',
      from: 'chain',
      to: 'available',
      amount: 10n,
      usdCents: null,
      createdAt: new Date(),
    },
  ])

test('a migration behind a long transaction names its owner, lets others post meanwhile and ends nobody', async () => {
  const serving = await createTestDatabase(inject('postgresUrl'), 'template1')
  try {
    await migrate(serving.ownerUrl, { through: BEFORE_FEES_LEFT })
    const [payer, shop] = [await seedMerchant(serving), await seedMerchant(serving)]
    const waiting = await withTransaction(serving.pools.watcher, payer, async (tx) => {
      await post(tx, payer)
      const told: string[] = []
      const options = { onWait: (line: string) => void told.push(line) }
      const migrating = migrate(serving.ownerUrl, options)
      // Whoever asks for the same table now stands behind the migration.
      await expect
        .poll(async () => {
          const { rows } = await serving.owner.query(
            `select from pg_locks where relation = 'ledger_entry'::regclass and not granted`,
          )
          return rows.length
        })
        .toBe(1)
      await withTransaction(serving.pools.watcher, shop, async (other) => {
        // Ten times as long as a migration may stand there.
        await other.query(`set local lock_timeout = '20s'`)
        await post(other, shop)
      })
      const { rows: holders } = await tx.query<{ pid: number }>('select pg_backend_pid() as pid')
      await expect
        .poll(() => told)
        .toEqual([
          expect.stringMatching(
            `the table ledger_entry, .* process ${holders[0]?.pid} of PostgreSQL \\(paylink-test\\): .* pg_terminate_backend\\(${holders[0]?.pid}\\)`,
          ),
        ])
      // One that finds another at work waits for its turn.
      const second = migrate(serving.ownerUrl, options)
      await expect
        .poll(() => told.slice(1))
        .toEqual([
          expect.stringMatching(/another migration to end: process \d+ of PostgreSQL \(paylink-migrate\)/),
        ])
      // A payout's request goes from the ledger to the payouts.
      await tx.query('select from payout where merchant_id = $1 for update', [payer.merchantId])
      return { migrating, second }
    })
    expect(await waiting.second).toEqual([])
    expect((await waiting.migrating).at(-1)).toMatch(`${await latestMigration()}`)
    const { rows } = await serving.owner.query('select from ledger_transfer')
    expect(rows).toHaveLength(2)
  } finally {
    await serving.drop()
  }
})

test('a signal ends it between two migrations, or behind a table in use, and the next call goes on', async () => {
  const stopped = await createTestDatabase(inject('postgresUrl'), 'template1')
  try {
    const first = new AbortController()
    const applied: string[] = []
    const onApplied = (name: string) => {
      applied.push(name)
      if (applied.length === 2) first.abort(new Error('told to stop'))
    }
    await expect(migrate(stopped.ownerUrl, { onApplied, stop: first.signal })).rejects.toThrow('told to stop')
    expect(applied).toHaveLength(2)

    await migrate(stopped.ownerUrl, { through: BEFORE_FEES_LEFT })
    const tenant = await seedMerchant(stopped)
    const second = new AbortController()
    await withTransaction(stopped.pools.watcher, tenant, async (tx) => {
      await post(tx, tenant)
      const onWait = () => second.abort(new Error('told to stop'))
      await expect(migrate(stopped.ownerUrl, { onWait, stop: second.signal })).rejects.toThrow()
    })
    expect((await migrate(stopped.ownerUrl)).at(-1)).toMatch(`${await latestMigration()}`)
  } finally {
    await stopped.drop()
  }
})
