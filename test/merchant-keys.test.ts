import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from './support/database.ts'

/** Keys that must be unique across merchants, with the reason why two are never alike. */
const ACROSS_MERCHANTS: { readonly [index: string]: string } = {
  account_nonce_pkey: 'one count for each hot wallet, whoever is paid from it',
  api_key_key_hash_key: '256 random bits',
  approver_sighting_pkey: 'a hash of what it names, merchant included',
  deposit_address_by_program: 'the pool gives an address away once, and the pool is unique',
  payment_link_by_slug: 'ten random characters; an insert that meets another tries again',
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

const OF_MERCHANTS = `select attrelid from pg_attribute where attname = 'merchant_id' and attnotnull`

test('every unique key of what belongs to a merchant holds the merchant', async () => {
  const rows = await query<{ index: string }>(
    `select i.relname as index from pg_index join pg_class i on i.oid = indexrelid join pg_class c on c.oid = indrelid
     where indisunique and c.relnamespace = 'public'::regnamespace and not c.relispartition
       and indrelid in (${OF_MERCHANTS})
       and not exists (select from pg_attribute where attrelid = indrelid and attname = 'merchant_id'
         and attnum = any((indkey::int2[])[0:indnkeyatts - 1]))`,
  )
  expect(rows.map(({ index }) => index).sort()).toEqual(Object.keys(ACROSS_MERCHANTS).sort())
})

test('what belongs to a merchant refers only to others of the same merchant', async () => {
  const rows = await query<{ name: string; pairs: string[] }>(
    `select conname as name, array(
       select a.attname || '=' || b.attname from unnest(conkey, confkey) as k(x, y)
         join pg_attribute a on a.attrelid = conrelid and a.attnum = x
         join pg_attribute b on b.attrelid = confrelid and b.attnum = y) as pairs
     from pg_constraint where contype = 'f' and conparentid = 0
       and conrelid in (${OF_MERCHANTS}) and confrelid in (${OF_MERCHANTS})`,
  )
  expect(rows.length).toBeGreaterThan(20)
  expect(rows.filter(({ pairs }) => !pairs.includes('merchant_id=merchant_id'))).toEqual([])
})

test('no table counts with a sequence, whose order all merchants would share', async () => {
  expect(
    await query(`select relname from pg_class where relkind = 'S' and relnamespace = 'public'::regnamespace`),
  ).toEqual([])
})
