import { afterAll, beforeAll, expect, test } from 'vitest'
import { runAudit } from '../../src/audit/run-audit.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { createTenant, createVerifiedEndpoint, emitEvent } from '../support/webhook-fixtures.ts'

/** Every column that delivery workers write, and every table whose rows they add or remove. */
const WRITTEN = [
  'approver_sighting UPDATE told_at',
  'attempt INSERT',
  'buyer_email DELETE',
  'buyer_email UPDATE ended_at, outcome, reason, sealed',
  'card_purchase UPDATE place, url',
  'delivery DELETE',
  'delivery UPDATE attempt, due_at, lapsed, lease_id, was_due_at',
  'delivery_lane DELETE',
  'delivery_lane INSERT',
  'delivery_lane UPDATE failing_since, failures, next_at, recovered_at',
  'destination_sighting UPDATE told_at',
  'endpoint_secret DELETE',
  'event DELETE',
  'event_awaiting INSERT',
  'idempotency_key DELETE',
  'known_manager DELETE',
  'known_manager INSERT',
  'known_manager UPDATE left_at',
  'notice_cursor UPDATE event_id, leased_until',
  'person_session DELETE',
  'person_verification DELETE',
  'receipt_request DELETE',
  'receipt_request UPDATE ended_at, outcome, reason, sealed',
  'request_log DELETE',
  'secret_guess DELETE',
  'sign_in_rate DELETE',
  'webhook_endpoint UPDATE status, status_reason, stop_told_at',
]

/** What delivery workers forget, each once it is old or has ended. */
const FORGOTTEN_LATER = [
  'event',
  'idempotency_key',
  'endpoint_secret',
  'secret_guess',
  'sign_in_rate',
  'person_session',
  'person_verification',
  'request_log',
]

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('delivery workers may write what they send by, and nothing else', async () => {
  const { rows } = await database.owner.query<{ written: string }>(
    `select concat_ws(' ', p.table_name, p.privilege_type, p.columns) as written from (
       select table_name::text, privilege_type::text, null as columns
       from information_schema.role_table_grants
       where grantee = 'paylink_delivery' and privilege_type <> 'SELECT'
       union all
       select c.table_name, c.privilege_type, string_agg(c.column_name, ', ' order by c.column_name)
       from information_schema.column_privileges c
       where c.grantee = 'paylink_delivery' and c.privilege_type <> 'SELECT' and not exists (
         select from information_schema.role_table_grants t
         where t.grantee = c.grantee and t.table_name = c.table_name and t.privilege_type = c.privilege_type)
       group by c.table_name, c.privilege_type) p
     order by written`,
  )
  expect(rows.map(({ written }) => written)).toEqual(WRITTEN)
})

test("with delivery's login nobody sends events elsewhere, or forgets what still counts", async () => {
  const tenant = await createTenant(database)
  const { owner, pools } = database
  await createVerifiedEndpoint(database, tenant, 'https://shop.example/hooks', ['*'])
  await emitEvent(database, tenant)
  await owner.query(
    `insert into idempotency_key (merchant_id, livemode, method, route, key, request_hash, response_status, response_body, created_at)
     values ($1, $2, 'POST', '/payouts', 'a', '\\x01', 201, '\\x02', now() - interval '71 hours')`,
    [tenant.merchantId, tenant.livemode],
  )
  await owner.query(`insert into secret_guess (subject, guesses, since) values ('person', 5, now())`)
  await owner.query(`insert into sign_in_rate (id, key, count, last_request) values ('a', 'a', 5, $1)`, [
    Date.now(),
  ])
  await owner.query(
    `insert into person (id, name, email, email_verified, two_factor_enabled, created_at, updated_at)
     values ('per_a', 'A', 'a@shop.example', true, false, now(), now())`,
  )
  await owner.query(
    `insert into person_session (id, user_id, token, expires_at, created_at, updated_at)
     values ('ses_a', 'per_a', 'token', now() + interval '1 hour', now(), now())`,
  )
  await owner.query(
    `insert into person_verification (id, identifier, value, expires_at, created_at, updated_at)
     values ('ver_a', 'a', 'a', now() + interval '1 hour', now(), now())`,
  )
  await owner.query(
    `insert into request_log (merchant_id, id, livemode, request_id, caller, method, route, path, status, duration_ms, created_at)
     values ($1, 'log_a', false, 'req_a', 'key_a', 'GET', '/invoices', '/invoices', 200, 5, now() - interval '29 days')`,
    [tenant.merchantId],
  )
  for (const refused of [
    `update webhook_endpoint set url = 'https://theirs.example/'`,
    `update webhook_endpoint set verified_at = now()`,
    `update webhook_endpoint set status = 'enabled', status_reason = null`,
    `update delivery set endpoint_id = 'theirs'`,
    `insert into delivery select * from delivery`,
    `insert into installation_secret (key_check, created_at) values ('\\x01', now())`,
    `update card_purchase set url = '\\x00'`,
  ]) {
    const attempt = pools.delivery.query(refused)
    if (refused.startsWith('update card')) expect((await attempt).rowCount).toBe(0)
    else await expect(attempt, refused).rejects.toThrow(/permission denied|row-level security/)
  }
  for (const table of FORGOTTEN_LATER) {
    expect((await pools.delivery.query(`delete from ${table}`)).rowCount, table).toBe(0)
    expect((await owner.query(`select from ${table}`)).rowCount, table).toBe(1)
  }
})

test("with delivery's login nobody reads kept answers, card sessions, or people beyond whom to write to", async () => {
  for (const read of [
    'select response_body from idempotency_key',
    'select url from card_purchase',
    'select two_factor_enabled from person',
    'select token from person_session',
    'select secret from person_two_factor',
    'select path from request_log',
    'select * from merchant',
  ]) {
    await expect(database.pools.delivery.query(read), read).rejects.toThrow('permission denied')
  }
})

test("the audit names an event whose delivery to one of two endpoints was deleted with delivery's login", async () => {
  const tenant = await createTenant(database)
  const { owner, pools } = database
  const [kept, lost] = [
    await createVerifiedEndpoint(database, tenant, 'https://a.example/'),
    await createVerifiedEndpoint(database, tenant, 'https://b.example/'),
  ]
  await owner.query(`update webhook_endpoint set verified_at = now() - interval '1 hour'`)
  const event = await emitEvent(database, tenant)
  const findings = async () => {
    const results = await runAudit(owner, [])
    const check = results.find(({ name }) => name === 'delivery_is_never_lost')
    return check?.findings.filter(({ merchantId }) => merchantId === tenant.merchantId)
  }
  expect(await findings()).toEqual([])
  await pools.delivery.query('delete from delivery where endpoint_id = $1', [lost.id])
  expect(await findings()).toEqual([
    { merchantId: tenant.merchantId, subject: event, detail: `never came to ${lost.id}` },
  ])
  expect((await owner.query('select from delivery where endpoint_id = $1', [kept.id])).rowCount).toBe(1)
})
