import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isStillSendable } from '../../src/db/delivery/deliveries.ts'
import { claimFromQueues } from '../../src/db/delivery/delivery-claims.ts'
import { loadInvoice } from '../../src/db/invoices/invoices.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { withQueueTransaction, withTransaction } from '../../src/postgres/transaction.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { inBlock } from '../support/invoice.ts'
import { seedInvoice, seedMerchant } from '../support/seed.ts'
import { createTenant, createVerifiedEndpoint, emitEvent } from '../support/webhook-fixtures.ts'

/** What a type of PostgreSQL's holds and no code of ours can read; grants-suite tries what a login can do with it. */

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database?.drop())

test('no login writes an amount that is not a number', async () => {
  const { rows } = await database.owner.query<{ column: string }>(
    `select concat_ws('.', c.relname, a.attname) as column
     from pg_class c
     join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and a.atttypid in ('numeric'::regtype, 'numeric[]'::regtype)
     where c.relkind in ('r', 'p') and not c.relispartition
       and exists (select from unnest(array['api', 'watcher', 'delivery', 'signer']) role
         where has_column_privilege('paylink_' || role, c.oid, a.attnum, 'insert, update'))
       and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'c'
         and pg_get_constraintdef(k.oid) ~ ('\\m' || a.attname || ' (<> ''NaN''|<= ''[0-9]+'')|''NaN''::numeric <> ALL \\(' || a.attname))
     order by 1`,
  )
  expect(rows.map(({ column }) => column)).toEqual([])
})

test("the API's login writes no value that is too long for who reads those of all merchants", async () => {
  const { rows } = await database.owner.query<{ column: string }>(
    `select concat_ws('.', c.relname, a.attname) as column
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       and a.atttypid in ('text'::regtype, 'bytea'::regtype, 'json'::regtype, 'jsonb'::regtype, 'text[]'::regtype)
     where c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
       and has_column_privilege('paylink_api', c.oid, a.attnum, 'insert, update')
       and (has_column_privilege('paylink_signer', c.oid, a.attnum, 'select')
         or has_column_privilege('paylink_delivery', c.oid, a.attnum, 'select'))
       and not exists (select from pg_index i where i.indrelid = c.oid and a.attnum = any (i.indkey))
       and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'c'
         and pg_get_constraintdef(k.oid) ~ ('(octet_)?length\\(\\(?' || a.attname || '\\M'))
     order by 1`,
  )
  // One for each payment of a sum: as long as that is.
  expect(rows.map(({ column }) => column)).toEqual(['transfer.parts'])
})

test('a time beyond all days is read as the first or the last of those that there are', async () => {
  const { rows } = await database.pools.api.query(
    `select '-infinity'::timestamptz as a, '4000-01-01 BC'::timestamptz as b, '2026-11-25T10:00:00Z'::timestamptz as c,
       '290000-01-01'::timestamptz as d, 'infinity'::timestamptz as e`,
  )
  const [first, now, last] = [
    '1000-01-01T00:00:00.000Z',
    '2026-11-25T10:00:00.000Z',
    '9999-12-31T00:00:00.000Z',
  ]
  expect(JSON.parse(JSON.stringify(rows))).toEqual([{ a: first, b: first, c: now, d: last, e: last }])
})

test.each(['api', 'watcher'] as const)(
  "the login of %s writes no event whose bytes would stop everybody's deliveries",
  async (role) => {
    const tenant = await seedMerchant(database)
    const write = (body: string) =>
      withTransaction(database.pools[role], tenant, (tx) =>
        tx.query(
          `insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
           values ($1, 'evt_' || $2::text, $3, 'payout.requested', $2, 1, $4, now())`,
          [tenant.merchantId, body, tenant.livemode, Buffer.from(body, 'hex')],
        ),
      )
    for (const body of ['ff', '00', '7b', '']) await expect(write(body)).rejects.toThrow()
    await write(Buffer.from('{}').toString('hex'))
  },
)

test('of the secrets of an endpoint no more are read than sign, however many are planted', async () => {
  const tenant = await createTenant(database)
  const { id } = await createVerifiedEndpoint(database, tenant, 'https://shop.example/hook')
  await emitEvent(database, tenant)
  await withTransaction(database.pools.api, tenant, (tx) =>
    tx.query(
      `insert into endpoint_secret (merchant_id, id, endpoint_id, livemode, secret_sealed, created_at, valid_until)
       select $1, 'sec_' || n, $2, $3, $4, now(), now() + interval '1 year' from generate_series(1, 100) n`,
      [tenant.merchantId, id, tenant.livemode, Buffer.alloc(4_096)],
    ),
  )
  const leaseId = randomUUID()
  const claim = { leaseId, cursor: '', rowsMax: 10, rowsByDefault: 10, roomByQueue: new Map() }
  const pool = database.pools.delivery
  const { deliveries } = await withQueueTransaction(pool, (tx) => claimFromQueues(tx, claim))
  expect(deliveries.map(({ secrets }) => secrets.length)).toEqual([4])
  for (const delivery of deliveries) {
    const isSendable = await withQueueTransaction(pool, (tx) => isStillSendable(tx, delivery, leaseId, 0))
    expect(isSendable).toBe(true)
  }
})

test("the API's login makes no invoice too long for its event", async () => {
  const tenant = await seedMerchant(database)
  const { id } = await seedInvoice(database, tenant)
  const rate = JSON.stringify({ sources: [{ name: 'x'.repeat(20_000) }] })
  await expect(
    withTransaction(database.pools.api, tenant, (tx) =>
      tx.query('update invoice set rate = $2 where id = $1', [id, rate]),
    ),
  ).rejects.toThrow('invoice_sizes')
})

test("an invoice whose rate the API's login emptied takes its payments, and holds up nobody's", async () => {
  const tenant = await seedMerchant(database)
  const { id } = await seedInvoice(database, tenant)
  const odd = ['{}', '[]', '7', 'null', '{"usdPerUnit": "1", "quotedAt": "now", "sources": [null]}']
  for (const [place, rate] of odd.entries()) {
    await withTransaction(database.pools.api, tenant, (tx) =>
      tx.query('update invoice set rate = $2 where id = $1', [id, rate]),
    )
    const recorded = await recordTransfers(
      { pool: database.pools.watcher, clock: systemClock },
      { tenant, invoiceId: id, facts: [inBlock(`tx${place}`, 1_000n, 1)], tipHeight: 100 },
    )
    expect([rate, recorded.changed]).toEqual([rate, true])
  }
})

test("other assets that the API's login names beside an invoice's neither count nor hold up payments", async () => {
  const tenant = await seedMerchant(database)
  const { id } = await seedInvoice(database, tenant, { asset: 'USDC_BASE', amount: 1_000_000n })
  for (const [place, named] of [[7], [null], ['X'], ['BTC', 'USDT_ETHEREUM', 'USDC_BASE']].entries()) {
    await withTransaction(database.pools.api, tenant, (tx) =>
      tx.query('update invoice set also_accepts = $2 where id = $1', [id, JSON.stringify(named)]),
    )
    const onBase = { network: 'base-test', asset: 'USDC_BASE', outputIndex: 0 } as const
    const recorded = await recordTransfers(
      { pool: database.pools.watcher, clock: systemClock },
      { tenant, invoiceId: id, facts: [{ ...inBlock(`tx${place}`, 1_000n, 1), ...onBase }], tipHeight: 100 },
    )
    expect([named, recorded.changed]).toEqual([named, true])
    const stored = await withTransaction(database.pools.api, tenant, (tx) => loadInvoice(tx, tenant, id))
    expect(stored?.invoice.alsoAccepts).toEqual([])
  }
})

test("the API's login writes no token's rate that the audit cannot read", async () => {
  const tenant = await seedMerchant(database)
  const { id } = await seedInvoice(database, tenant, { asset: 'USDC_BASE', usdCents: 100n })
  const write = (usdPerUnit: unknown) =>
    withTransaction(database.pools.api, tenant, (tx) =>
      tx.query('update invoice set token_rates = $2 where id = $1', [
        id,
        JSON.stringify({ USDC: { usdPerUnit } }),
      ]),
    )
  for (const odd of [true, 7, null, undefined, {}, ['1'], [[]], 'x', '1e5', '-1', '1\n'])
    await expect(write(odd), JSON.stringify(odd)).rejects.toThrow('invoice_token_rates')
  await write('0.9999')
})
