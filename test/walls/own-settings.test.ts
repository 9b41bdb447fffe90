import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lockLedger } from '../../src/db/ledger/ledger.ts'
import { openPool } from '../../src/postgres/pool.ts'
import { DATABASE_ROLES, type DatabaseRole } from '../../src/postgres/roles.ts'
import { withSystemTransaction, withTransaction } from '../../src/postgres/transaction.ts'
import { takeLeadership } from '../../src/watcher/leadership.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { createTenant } from '../support/webhook-fixtures.ts'

/**
 * A role of PostgreSQL may set defaults for its own later sessions, and no new password takes them back. Each of these
 * changes what the statements of a process mean, or stops its writes.
 */
const SETTINGS: { readonly [name: string]: string } = {
  search_path: 'pg_catalog',
  default_transaction_isolation: 'repeatable read',
  default_transaction_read_only: 'on',
  default_transaction_deferrable: 'on',
  synchronous_commit: 'off',
  row_security: 'off',
  statement_timeout: '1',
  lock_timeout: '1',
  idle_session_timeout: '1',
  tcp_keepalives_idle: '7200',
  tcp_keepalives_interval: '75',
  tcp_keepalives_count: '9',
  tcp_user_timeout: '0',
  idle_in_transaction_session_timeout: '1',
  DateStyle: 'SQL, DMY',
  IntervalStyle: 'iso_8601',
  TimeZone: 'Asia/Tokyo',
  bytea_output: 'escape',
  extra_float_digits: '0',
  standard_conforming_strings: 'off',
  transform_null_equals: 'on',
}

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

/** A pool as the role's process opens it. */
const openAs = (role: DatabaseRole) =>
  openPool({ connectionString: database.urls[role], applicationName: 'test', max: 1, onError: () => {} })

async function settingsOf(role: DatabaseRole) {
  const pool = openAs(role)
  try {
    const { rows } = await pool.query<{ name: string; value: string | null }>(
      'select name, current_setting(name, true) as value from unnest($1::text[]) as name',
      [Object.keys(SETTINGS)],
    )
    return Object.fromEntries(rows.map(({ name, value }) => [name, value]))
  } finally {
    await pool.end()
  }
}

test('a machine that was cut off holds its locks for 11 seconds, also amid an answer', async () => {
  expect(await settingsOf('api')).toMatchObject({
    tcp_keepalives_idle: '5',
    tcp_keepalives_interval: '2',
    tcp_keepalives_count: '3',
    tcp_user_timeout: '11000',
  })
})

describe.each(DATABASE_ROLES)('defaults that the login of %s has set for itself', (role) => {
  test('change no session of its process', async () => {
    const before = await settingsOf(role)
    const assignments = Object.entries(SETTINGS)
    await database.pools[role].query(
      assignments.map(([name, value]) => `alter role current_user set ${name} = '${value}'`).join(';'),
    )
    const kept = await database.owner.query(
      `select from pg_db_role_setting, unnest(setconfig) where setrole::regrole::text like '%' || $1`,
      [new URL(database.urls[role]).username],
    )
    expect(kept.rowCount).toBe(Object.keys(SETTINGS).length)
    expect(await settingsOf(role)).toEqual(before)
    const pool = openAs(role)
    const isolation = await withSystemTransaction(pool, async (tx) => {
      const { rows } = await tx.query('select version from schema_migration limit 0')
      expect(rows).toEqual([])
      return (await tx.query<{ transaction_isolation: string }>('show transaction_isolation')).rows[0]
    })
    expect(isolation).toEqual({ transaction_isolation: 'read committed' })
    await pool.end()
  })
})

test('the session that holds a network’s lead starts as the pool’s do, and writes', async () => {
  const lead = await takeLeadership(
    database.urls.watcher,
    'litecoin-live',
    AbortSignal.timeout(10_000),
    (error) => {
      throw error
    },
  )
  const names = ['default_transaction_read_only', 'statement_timeout', 'idle_in_transaction_session_timeout']
  const shown = await lead?.connection.query(
    'select current_setting(name) as value from unnest($1::text[]) as name',
    [names],
  )
  expect(shown?.rows.map(({ value }) => value)).toEqual(['off', '30s', '30s'])
  await lead?.release()
})

test('a merchant’s turn that another login keeps is free once its session is ended', async () => {
  const { owner, pools } = database
  const tenant = await createTenant(database)
  const takeTurn = () =>
    withTransaction(pools.watcher, tenant, async (tx) => {
      await tx.query(`set local lock_timeout = '200ms'`)
      await lockLedger(tx, tenant)
    })
  const thief = await pools.delivery.connect()
  await thief.query('select pg_advisory_lock(hashtextextended($1, 0))', [
    `ledger/${tenant.merchantId}/${tenant.livemode}`,
  ])
  await expect(takeTurn()).rejects.toThrow('lock timeout')
  const name = new URL(database.urls.delivery).username
  await owner.query('select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = $1', [name])
  await takeTurn()
  thief.release(true)
})
