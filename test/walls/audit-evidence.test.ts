import { afterAll, beforeAll, expect, test } from 'vitest'
import { beginAuditRun, finishAuditRun, loadLastAuditRun } from '../../src/db/ledger/audit-runs.ts'
import { withSystemTransaction } from '../../src/postgres/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { seedMerchant } from '../support/seed.ts'

const DAY_MS = 86_400_000
const REPORT = { checks: 1, notChecked: 0, discrepancies: 1, report: [] }

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const begin = (at: Date) => withSystemTransaction(database.pools.watcher, (tx) => beginAuditRun(tx, at, 60))

test("with the watcher's login an ended audit is neither changed, forgotten, nor held up by a later one", async () => {
  const { watcher, api } = database.pools
  const now = new Date()
  expect(await begin(now)).toBe(true)
  await finishAuditRun(watcher, now, now, REPORT)
  const changed = await watcher.query(`update audit_run set discrepancies = 0`)
  const deleted = await watcher.query('delete from audit_run')
  expect([changed.rowCount, deleted.rowCount]).toEqual([0, 0])
  await expect(finishAuditRun(watcher, now, now, { ...REPORT, discrepancies: 0 })).rejects.toThrow(
    'row-level security',
  )
  await expect(watcher.query('update audit_run set started_at = now()')).rejects.toThrow('permission denied')
  expect(await loadLastAuditRun(api)).toMatchObject({ discrepancies: 1 })
  const inAYear = new Date(now.getTime() + 365 * DAY_MS)
  await watcher.query('insert into audit_run (started_at) values ($1)', [inAYear])
  expect(await begin(new Date(now.getTime() + 2 * 3_600_000))).toBe(true)
})

test('the newest hundred audits are kept, and older ones are forgotten once they are old', async () => {
  const { owner, pools } = database
  await owner.query('delete from audit_run')
  await owner.query(
    `insert into audit_run (started_at, finished_at)
     select at, at from generate_series(now() - interval '30 days', now() - interval '1 day', interval '6 hours') as at`,
  )
  const now = new Date()
  await finishAuditRun(pools.watcher, now, now, REPORT)
  const { rows } = await owner.query<{ kept: number }>('select count(*)::int as kept from audit_run')
  expect(rows[0]?.kept).toBe(100)
})

test("with a worker's login no event, coin, sweep or posting is deleted before the audit may read it", async () => {
  const { owner, pools } = database
  const { merchantId } = await seedMerchant(database)
  await owner.query(
    `insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
     values ($1, 'evt_a', false, 'invoice.paid', 'inv_a', 1, '{}', now() - interval '80 days')`,
    [merchantId],
  )
  expect((await pools.delivery.query('delete from event')).rowCount).toBe(0)
  for (const role of ['api', 'watcher', 'delivery', 'signer'] as const)
    for (const table of [
      'transfer',
      'invoice',
      'deposit_address',
      'ledger_transfer',
      'ledger_entry',
      'ledger_balance',
      'hot_credit',
      'payout',
      'payout_approval',
      'payout_transaction',
      'payout_change',
      'sweep',
      'sweep_transfer',
      'sweep_transaction',
      'solana_chore',
      'account_nonce',
      'hot_wallet',
      'lost_payout',
    ])
      await expect(pools[role].query(`delete from ${table}`), `${role} ${table}`).rejects.toThrow(
        'permission denied',
      )
})
