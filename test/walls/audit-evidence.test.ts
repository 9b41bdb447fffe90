import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAuditor } from '../../src/audit/keep-auditing.ts'
import { loadLastAudit } from '../../src/audit/last-audit.ts'
import { beginAuditRun, finishAuditRun } from '../../src/db/ledger/audit-runs.ts'
import { withSystemTransaction } from '../../src/postgres/transaction.ts'
import { sealAudit } from '../../src/secrets/audit-seal.ts'
import { openOutcomeKey } from '../../src/secrets/outcome-key.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'
import { until } from '../support/until.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000
const DAY_MS = 86_400_000
const KEY = openOutcomeKey(Buffer.alloc(32, 1))
const REPORT = { checks: 1, notChecked: 0, discrepancies: 1, report: [] }

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const begin = (at: Date) =>
  withSystemTransaction(database.pools.watcher, (tx) =>
    beginAuditRun(tx, at, { everyMinutes: 60, sealed: false }),
  )

test("with the watcher's login an ended audit is neither changed, forgotten, nor held up by a later one", async () => {
  const { watcher, api } = database.pools
  const now = new Date(Date.now() - 2 * HOUR_MS)
  expect(await begin(now)).toBe(true)
  await finishAuditRun(watcher, now, now, REPORT, null)
  const changed = await watcher.query(`update audit_run set discrepancies = 0`)
  const deleted = await watcher.query('delete from audit_run')
  expect([changed.rowCount, deleted.rowCount]).toEqual([0, 0])
  await expect(finishAuditRun(watcher, now, now, { ...REPORT, discrepancies: 0 }, null)).rejects.toThrow(
    'row-level security',
  )
  await expect(watcher.query('update audit_run set started_at = now()')).rejects.toThrow('permission denied')
  expect(await loadLastAudit(api, null)).toMatchObject({ discrepancies: 1 })
  const soon = new Date(Date.now() + 9 * MINUTE_MS)
  await watcher.query('insert into audit_run (started_at) values ($1)', [soon])
  expect(await begin(new Date())).toBe(true)
  const later = `insert into audit_run (started_at, finished_at) values (now() + interval '1 hour', now())`
  await expect(watcher.query(later)).rejects.toThrow('row-level security')
})

test("whatever the watcher's login writes of audits, a process audits within a day and logs what it finds", async () => {
  const { owner, pools } = database
  const invoice = await seedInvoice(database, await seedMerchant(database))
  await owner.query(`update invoice set status = 'expired' where id = $1`, [invoice.id])
  const logged: string[] = []
  let now = new Date(Date.now() - 10 * DAY_MS)
  const look = createAuditor({
    pool: pools.watcher,
    nodes: [],
    clock: () => now,
    log: pino({ level: 'error' }, { write: (line: string) => logged.push(line) }),
    addressKeysFile: null,
    sealKey: KEY,
  })
  // Another session keeps the turn, and an audit that found nothing is written again and again.
  const thief = await pools.watcher.connect()
  await thief.query(`begin; select pg_advisory_xact_lock(hashtextextended('audit_run', 0))`)
  for (let hour = 0; hour < 24; hour++) {
    await pools.watcher.query(
      'insert into audit_run (started_at, finished_at, checks, not_checked, discrepancies, seal) values ($1, $1, 9, 0, 0, $2)',
      [now, Buffer.alloc(64)],
    )
    now = new Date(now.getTime() + HOUR_MS)
    if (hour < 23) expect(await look()).toBeNull()
  }
  // One of them says how the process's own audit ended, before it has.
  await thief.query('rollback')
  thief.release()
  const busy = await owner.connect()
  await busy.query('begin; lock table event in access exclusive mode')
  const own = look().catch((error: unknown) => String(error))
  await until(
    async () => {
      const { rowCount } = await pools.watcher.query(
        'update audit_run set finished_at = started_at, discrepancies = 0 where started_at = $1',
        [now],
      )
      return rowCount === 1
    },
    { what: 'the audit has begun' },
  )
  await busy.query('rollback')
  busy.release()
  expect(await own).toContain('row-level security')
  expect(logged.join('')).toContain('invoice_follows_its_facts')
  await owner.query('delete from audit_run')
})

test("with the watcher's login nobody makes up an audit: the last one that the process sealed is shown", async () => {
  const { owner, pools } = database
  await owner.query('delete from audit_run')
  const at = new Date(Date.now() - HOUR_MS)
  const sealOf = (figures: typeof REPORT, key = KEY) =>
    sealAudit(key, { startedAt: at, finishedAt: at, ...figures })
  await finishAuditRun(pools.watcher, at, at, REPORT, sealOf(REPORT))
  const insert = `insert into audit_run (started_at, finished_at, checks, not_checked, discrepancies, seal)
    values ($1, $1, 1, 0, 0, $2)`
  const forged = [null, Buffer.alloc(64), sealOf(REPORT), sealOf(REPORT, openOutcomeKey(Buffer.alloc(32, 2)))]
  for (const [index, seal] of forged.entries())
    await pools.watcher.query(insert, [new Date(at.getTime() + (index + 1) * MINUTE_MS), seal])
  const unsealed: Date[] = []
  const last = await loadLastAudit(pools.api, KEY.publicKey, ({ startedAt }) => unsealed.push(startedAt))
  expect(last).toMatchObject({ startedAt: at, discrepancies: 1 })
  expect(unsealed).toEqual([new Date(at.getTime() + 4 * MINUTE_MS)])
  // Nor does one without a seal put off the next.
  await owner.query('delete from audit_run')
  await pools.watcher.query(insert, [at, null])
  const due = { everyMinutes: 360, sealed: true }
  expect(await withSystemTransaction(pools.watcher, (tx) => beginAuditRun(tx, new Date(), due))).toBe(true)
  await owner.query('delete from audit_run')
})

test('the newest hundred audits are kept, and older ones are forgotten once they are old', async () => {
  const { owner, pools } = database
  await owner.query('delete from audit_run')
  await owner.query(
    `insert into audit_run (started_at, finished_at)
     select at, at from generate_series(now() - interval '30 days', now() - interval '1 day', interval '6 hours') as at`,
  )
  const now = new Date()
  await finishAuditRun(pools.watcher, now, now, REPORT, null)
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
      'hot_wallet_token',
      'lost_payout',
    ])
      await expect(pools[role].query(`delete from ${table}`), `${role} ${table}`).rejects.toThrow(
        'permission denied',
      )
})
