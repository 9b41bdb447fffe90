import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { readRootFile } from '../support/root-file.ts'
import { ACROSS_MERCHANTS, DISTRIBUTION_COLUMN, LOCAL_TABLES, REFERENCE_TABLES } from './distribution.ts'
import { readQueries } from './read-queries.ts'

/** What Citus demands of a schema, held against ours without Citus. */

/**
 * Uniqueness across merchants, which Citus cannot check on a distributed table. On Citus each becomes a plain index,
 * for the reason that stands beside it.
 */
const UNIQUE_ACROSS_MERCHANTS: { readonly [index: string]: string } = {
  api_key_key_hash_key: '256 random bits: two are never alike',
  deposit_address_by_program:
    'the pool on the coordinator gives an address away once, and the pool is unique',
  payment_link_by_slug:
    'ten random characters; a table of slugs on the coordinator, written first, keeps them apart',
  payout_transaction_by_txid: 'a hash of what it holds, payout included',
  sweep_transaction_by_txid: 'a hash of what it holds, sweep included',
}

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const query = async <Row extends object>(sql: string): Promise<Row[]> =>
  (await database.owner.query<Row & { [column: string]: unknown }>(sql)).rows

async function tables(): Promise<string[]> {
  const rows = await query<{ name: string }>(
    `select relname as name from pg_class where relkind in ('r', 'p') and not relispartition
       and relnamespace = 'public'::regnamespace order by relname`,
  )
  return rows.map(({ name }) => name)
}

const isDistributed = (table: string): boolean => !(table in REFERENCE_TABLES) && !(table in LOCAL_TABLES)

test('every table is distributed by its merchant, or stands in one list with its reason', async () => {
  const rows = await query<{ table: string }>(
    `select relname as table from pg_class join pg_attribute on attrelid = pg_class.oid
     where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace
       and attname = '${DISTRIBUTION_COLUMN}' and attnotnull`,
  )
  const withColumn = new Set(rows.map((row) => row.table))
  const all = await tables()
  expect(all.filter((table) => isDistributed(table) && !withColumn.has(table))).toEqual([])
  const listed = [...Object.keys(REFERENCE_TABLES), ...Object.keys(LOCAL_TABLES)]
  expect(listed.filter((table) => !all.includes(table))).toEqual([])
  expect(new Set(listed).size).toBe(listed.length)
})

test('every unique key of a distributed table holds the merchant', async () => {
  const rows = await query<{ table: string; index: string; columns: string[] }>(
    `select c.relname as table, i.relname as index, array(
       select attname::text from unnest(indkey) with ordinality k(num, at)
         left join pg_attribute on attrelid = indrelid and attnum = k.num
       where at <= indnkeyatts and attname is not null) as columns
     from pg_index join pg_class i on i.oid = indexrelid join pg_class c on c.oid = indrelid
     where indisunique and c.relnamespace = 'public'::regnamespace and not c.relispartition`,
  )
  const across = rows.filter(
    ({ table, columns }) => isDistributed(table) && !columns.includes(DISTRIBUTION_COLUMN),
  )
  expect(across.map(({ index }) => index).sort()).toEqual(Object.keys(UNIQUE_ACROSS_MERCHANTS).sort())
  const guide = await readRootFile('docs/scaling.md')
  expect(across.filter(({ index }) => !guide.includes(`\`${index}\``))).toEqual([])
})

test('a distributed table refers to others of the same merchant, or to a table that is on every node', async () => {
  const rows = await query<{ name: string; from: string; to: string; pairs: string[] }>(
    `select conname as name, f.relname as from, t.relname as to, array(
       select a.attname || '=' || b.attname from unnest(conkey, confkey) as k(x, y)
         join pg_attribute a on a.attrelid = conrelid and a.attnum = x
         join pg_attribute b on b.attrelid = confrelid and b.attnum = y) as pairs
     from pg_constraint join pg_class f on f.oid = conrelid join pg_class t on t.oid = confrelid
     where contype = 'f' and conparentid = 0`,
  )
  expect(rows.length).toBeGreaterThan(20)
  const wrong = rows.filter(({ from, to, pairs }) => {
    if (isDistributed(from) && isDistributed(to))
      return !pairs.includes(`${DISTRIBUTION_COLUMN}=${DISTRIBUTION_COLUMN}`)
    if (isDistributed(from)) return !(to in REFERENCE_TABLES)
    return isDistributed(to)
  })
  expect(wrong.map(({ name, from, to }) => `${name}: ${from} → ${to}`)).toEqual([])
})

test('no table counts with a sequence, which on many nodes would be one place for all', async () => {
  expect(
    await query(`select relname from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace`),
  ).toEqual([])
})

test('every query of a distributed table goes to one merchant’s node, or is listed with the reason why it asks all', async () => {
  const distributed = (await tables()).filter(isDistributed)
  const { routed, across } = await readQueries(distributed)
  expect(routed.length).toBeGreaterThan(140)
  expect(across.sort()).toEqual(Object.keys(ACROSS_MERCHANTS).sort())
})

test('the guide names every table with where it lies', async () => {
  const guide = await readRootFile('docs/scaling.md')
  expect((await tables()).filter((table) => !guide.includes(`\`${table}\``))).toEqual([])
})
