import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { loadCardPurchase } from '../../src/db/checkout/card-purchases.ts'
import { deleteDeliveredEvents } from '../../src/db/delivery/delivery-upkeep.ts'
import { applyRetention, sendToRecovered, sweepDeliveries } from '../../src/delivery/upkeep.ts'
import { queueEvent } from '../../src/flows/redeliver-events.ts'
import { type Tx, withSystemTransaction, withTransaction } from '../../src/postgres/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { seedInvoice } from '../support/seed.ts'
import { until } from '../support/until.ts'
import {
  clearDeliveries,
  countRows,
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  fillBacklog,
} from '../support/webhook-fixtures.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(() => clearDeliveries(database))

const partitions = async (): Promise<string[]> => {
  const { rows } = await database.owner.query<{ relname: string }>(
    `select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'attempt'::regclass order by 1`,
  )
  return rows.map((row) => row.relname)
}
const dayName = (offsetDays: number) =>
  `attempt_${new Date(Date.now() + offsetDays * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')}`

test('attempts have a partition for every day of the week ahead, and lose theirs after thirty days', async () => {
  for (const offset of [-29, -30, -31, -40]) {
    const [from, to] = [offset, offset + 1].map((day) =>
      new Date(Date.now() + day * 86_400_000).toISOString().slice(0, 10),
    )
    await database.owner.query(
      `create table ${dayName(offset)} partition of attempt for values from ('${from} 00:00+00') to ('${to} 00:00+00')`,
    )
  }
  await database.owner.query(`drop table ${dayName(3)}`)
  // Those that were made with the tables are of the day on which the run of tests began.
  const before = await partitions()
  await applyRetention(database.pools.delivery)
  const kept = before.filter((name) => name !== dayName(-31) && name !== dayName(-40))
  const expected = [...new Set([...kept, ...[-30, -29, -1, 0, 1, 2, 3, 4, 5, 6, 7].map(dayName)])]
  expect(await partitions()).toEqual(expected.sort())
})

test('workers may not drop what is younger than thirty days, nor change an attempt', async () => {
  const { delivery } = database.pools
  await expect(delivery.query('select attempt_keep_partitions(7, 5)')).rejects.toThrow('out of range')
  await expect(database.pools.api.query('select attempt_keep_partitions(7, 30)')).rejects.toThrow(
    'permission denied',
  )
  await expect(delivery.query('update attempt set code = code')).rejects.toThrow('permission denied')
  await expect(delivery.query('delete from attempt')).rejects.toThrow('permission denied')
})

test('delivered events go after ninety days; those that reached nobody and those on their way stay', async () => {
  const tenant = await createTenant(database)
  const awaited = await emitEvent(database, tenant)
  const endpoint = await createVerifiedEndpoint(database, tenant, undefined, ['invoice.created'])
  const notSubscribed = await emitEvent(database, tenant, 'invoice.expired')
  const onItsWay = await emitEvent(database, tenant)
  const delivered = await emitEvent(database, tenant)
  const young = await emitEvent(database, tenant)
  await database.owner.query('delete from delivery where event_id = any ($1)', [[delivered, young]])
  await database.owner.query(`update event set created_at = now() - interval '91 days' where id <> $1`, [
    young,
  ])
  await database.owner.query(`update event set created_at = now() - interval '89 days' where id = $1`, [
    young,
  ])
  expect((await applyRetention(database.pools.delivery)).events).toBe(1)
  const left = await database.owner.query<{ id: string }>('select id from event order by id')
  expect(left.rows.map((row) => row.id)).toEqual([awaited, notSubscribed, onItsWay, young].sort())
  expect(endpoint.id).toMatch(/^we_/)
})

test('an old event that is queued as retention comes by is kept with its delivery, or is gone for both', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant)
  const [kept, forgotten] = [await emitEvent(database, tenant), await emitEvent(database, tenant)]
  await database.owner.query('delete from delivery')
  const age = (id: string) =>
    database.owner.query(`update event set created_at = now() - interval '91 days' where id = $1`, [id])
  const queue = (tx: Tx, eventId: string) =>
    queueEvent(tx, { tenant, eventId, endpointId: endpoint.id, now: new Date() })

  await age(kept)
  let retention: Promise<{ events: number }> | undefined
  await withTransaction(database.pools.api, tenant, async (tx) => {
    expect((await queue(tx, kept)).kind).toBe('queued')
    retention = applyRetention(database.pools.delivery)
    await untilBlocked()
  })
  expect((await retention)?.events).toBe(0)
  expect([await countRows(database, 'event'), await countRows(database, 'delivery')]).toEqual([2, 1])

  await age(forgotten)
  let queued: ReturnType<typeof queue> | undefined
  await withSystemTransaction(database.pools.delivery, async (tx) => {
    expect(await deleteDeliveredEvents(tx, 90)).toBe(1)
    queued = withTransaction(database.pools.api, tenant, (other) => queue(other, forgotten))
    await untilBlocked()
  })
  expect(await queued).toEqual({ kind: 'not_found' })
  expect([await countRows(database, 'event'), await countRows(database, 'delivery')]).toEqual([1, 1])

  function untilBlocked(): Promise<void> {
    const waits = `select from pg_stat_activity where datname = current_database() and wait_event = 'advisory'`
    return until(async () => (await database.owner.query(waits)).rowCount === 1, {
      what: 'one waits for the other',
    })
  }
})

test('kept answers go after seventy-two hours, and secrets when their overlap is over', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant)
  for (const [key, hours] of [
    ['old', 73],
    ['young', 71],
  ]) {
    await database.owner.query(
      `insert into idempotency_key values ($1, false, 'post', '/invoices', $2, '', 201, '', now() - $3 * interval '1 hour')`,
      [tenant.merchantId, key, hours],
    )
  }
  await database.owner.query(
    `insert into endpoint_secret (merchant_id, id, endpoint_id, livemode, secret_sealed, created_at, valid_until)
     values ($1, 'ended', $2, false, '', now(), now() - interval '1 second'),
            ($1, 'ending', $2, false, '', now(), now() + interval '1 hour')`,
    [tenant.merchantId, endpoint.id],
  )
  expect((await applyRetention(database.pools.delivery)).idempotencyKeys).toBe(1)
  const keys = await database.owner.query('select key from idempotency_key')
  expect(keys.rows).toEqual([{ key: 'young' }])
  const secrets = await database.owner.query('select id from endpoint_secret where endpoint_id = $1', [
    endpoint.id,
  ])
  expect(secrets.rows.map((row) => row.id)).not.toContain('ended')
  expect(secrets.rows).toHaveLength(2)
})

test("card buyers' places and sessions are forgotten after thirty days; workers read and change no more", async () => {
  const tenant = await createTenant(database)
  const { id: invoiceId } = await seedInvoice(database, tenant)
  await database.owner.query(
    `insert into card_purchase (merchant_id, id, livemode, invoice_id, provider, asset, amount, address, place, status,
       created_at, fresh_until, url)
     select $1, id, $2, $3, 'coinbase', 'USDC_BASE', 5, '0x', 'US-CA', 'offered', made, made, url
     from (values ('old', now() - interval '30 days 1 minute', 'sealed'::bytea), ('refused', now() - interval '40 days', null),
       ('young', now() - interval '29 days 23 hours', 'sealed')) as given (id, made, url)`,
    [tenant.merchantId, tenant.livemode, invoiceId],
  )
  const stored = async () =>
    (
      await database.owner.query(
        `select id, place, url is not null as url, amount::int, status from card_purchase order by id`,
      )
    ).rows
  const kept = { amount: 5, status: 'offered' }
  // The second time finds nothing more to do.
  for (let times = 0; times < 2; times++) {
    await applyRetention(database.pools.delivery)
    expect(await stored()).toEqual([
      { ...kept, id: 'old', place: null, url: false },
      { ...kept, id: 'refused', place: null, url: false },
      { ...kept, id: 'young', place: 'US-CA', url: true },
    ])
  }
  const purchase = await withTransaction(database.pools.api, tenant, (tx) =>
    loadCardPurchase(tx, tenant, 'old'),
  )
  expect(purchase).toMatchObject({ place: null, amount: 5n })
  for (const refused of [
    'select url from card_purchase',
    'select address from card_purchase',
    'update card_purchase set amount = 1',
    'delete from card_purchase',
  ])
    await expect(database.pools.delivery.query(refused)).rejects.toThrow('permission denied')
})

test('what waits for an endpoint that came back is due at once, once each, also what was under way', async () => {
  const tenant = await createTenant(database)
  const [endpoint, other] = [
    await createVerifiedEndpoint(database, tenant),
    await createVerifiedEndpoint(database, tenant, 'https://shop.example/other'),
  ]
  await fillBacklog(database, endpoint, 2_500)
  await fillBacklog(database, other, 10)
  await database.owner.query(
    `update delivery set attempt = 9, due_at = now() + interval '5 hours', was_due_at = now() - interval '1 hour'`,
  )
  await database.owner.query(
    `update delivery set lease_id = gen_random_uuid(), due_at = now() + interval '30 seconds'
     where id = (select id from delivery where endpoint_id = $1 limit 1)`,
    [endpoint.id],
  )
  await database.owner.query(
    `insert into delivery_lane (merchant_id, endpoint_id, livemode, failures, recovered_at)
     values ($1, $2, false, 0, now()), ($1, $3, false, 3, null)`,
    [tenant.merchantId, endpoint.id, other.id],
  )
  const waiting = async (of: { readonly id: string }): Promise<number> => {
    const { rowCount } = await database.owner.query(
      'select from delivery where endpoint_id = $1 and due_at > now()',
      [of.id],
    )
    return rowCount ?? 0
  }
  await sendToRecovered(database.pools.delivery)
  expect([await waiting(endpoint), await waiting(other)]).toEqual([1, 10])
  // One that was made due and failed again has its own wait; the one that was under way fails only now.
  await database.owner.query(
    `update delivery set was_due_at = due_at, due_at = now() + interval '1 hour' where id = (
       select id from delivery where lease_id is null and endpoint_id = $1 limit 1)`,
    [endpoint.id],
  )
  await database.owner.query(
    `update delivery set lease_id = null, due_at = now() + interval '6 hours' where lease_id is not null`,
  )
  await sendToRecovered(database.pools.delivery)
  expect(await waiting(endpoint)).toBe(1)
  const { rows } = await database.owner.query('select endpoint_id, failures from delivery_lane')
  expect(rows).toEqual([{ endpoint_id: other.id, failures: 3 }])
})

test('the failures of an endpoint that nothing waits for are forgotten', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant)
  await database.owner.query(
    `insert into delivery_lane (merchant_id, endpoint_id, livemode, failures, next_at) values ($1, $2, false, 12, now())`,
    [tenant.merchantId, endpoint.id],
  )
  await sendToRecovered(database.pools.delivery)
  expect((await database.owner.query('select from delivery_lane')).rowCount).toBe(0)
})

test('what is being sent to an endpoint at the moment it is removed is swept once its lease is over', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant)
  await fillBacklog(database, endpoint, 3)
  await database.owner.query(`update webhook_endpoint set removed_at = now() where id = $1`, [endpoint.id])
  await database.owner.query(
    `update delivery set lease_id = gen_random_uuid(), due_at = now() + interval '30 seconds'
     where id = (select id from delivery limit 1)`,
  )
  expect(await sweepDeliveries(database.pools.delivery)).toBe(2)
  await database.owner.query('update delivery set due_at = now()')
  expect(await sweepDeliveries(database.pools.delivery)).toBe(1)
  const { rows } = await database.owner.query('select distinct reason from event_awaiting')
  expect(rows).toEqual([{ reason: 'removed' }])
})

test('guesses, counts, sessions and tokens that have ended are forgotten; what still counts stays', async () => {
  const { owner, pools } = database
  await owner.query(
    `insert into person values ('p', 'Ann', 'ann@example.com', true, null, false, now(), now())`,
  )
  for (const [age, word] of [
    ['25 hours', 'old'],
    ['1 hour', 'new'],
  ] as const) {
    await owner.query(`insert into secret_guess values ($2, 1, now() - $1::interval)`, [age, word])
    await owner.query(
      `insert into sign_in_rate values ($2, $2, 1, 1000 * extract(epoch from now() - $1::interval))`,
      [age, word],
    )
    // Both last twelve hours.
    const lasting = `now() - $1::interval + interval '12 hours', now(), now()`
    await owner.query(
      `insert into person_session (id, user_id, token, expires_at, created_at, updated_at) values ($2, 'p', $2, ${lasting})`,
      [age, word],
    )
    await owner.query(`insert into person_verification values ($2, $2, 'p', ${lasting})`, [age, word])
  }
  await applyRetention(pools.delivery)
  const { rows } = await owner.query(`select subject as kept from secret_guess union all
    select id from sign_in_rate union all select id from person_session union all select id from person_verification`)
  expect(rows).toEqual(Array.from({ length: 4 }, () => ({ kept: 'new' })))
})

test("deliveries that the API's login plants at a disabled endpoint keep no other from awaiting recovery", async () => {
  const [tenant, planter] = [await createTenant(database), await createTenant(database)]
  const endpoint = await createVerifiedEndpoint(database, tenant)
  const event = await emitEvent(database, tenant)
  const foreign = await emitEvent(database, planter)
  const plant = (owner: typeof tenant, eventId: string) =>
    withTransaction(database.pools.api, owner, (tx) =>
      tx.query(
        `insert into delivery (merchant_id, id, livemode, endpoint_id, event_id, due_at, give_up_at)
         values ($1, 'dlv_' || $2, $3, $4, $2, now(), now() + interval '1 day')`,
        [owner.merchantId, eventId, owner.livemode, endpoint.id],
      ),
    )
  await plant(planter, foreign)
  await plant(tenant, 'evt_that_there_is_not')
  await database.owner.query(`update webhook_endpoint set status = 'disabled' where id = $1`, [endpoint.id])
  expect(await sweepDeliveries(database.pools.delivery)).toBe(3)
  const { rows } = await database.owner.query('select reason from event_awaiting where event_id = $1', [
    event,
  ])
  expect(rows).toEqual([{ reason: 'disabled' }])
})
