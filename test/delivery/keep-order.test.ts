import { randomUUID } from 'node:crypto'
import type { PoolClient } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EVENT_FORMATS } from '../../src/compat/event-formats.ts'
import { GIVE_UP_AFTER_MS } from '../../src/core/endpoint/backoff.ts'
import { readTurns } from '../../src/db/delivery/delivery-order.ts'
import { startDeliveryWorker } from '../../src/delivery/worker.ts'
import { type QueueTx, withQueueTransaction } from '../../src/postgres/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import {
  attemptsOf,
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  letTimePass,
  silentLog,
  testKeyring,
} from '../support/webhook-fixtures.ts'
import { startReceiver } from '../support/webhook-receiver.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

/** The same object with some methods of its own. */
function boundTo<Thing extends object>(target: Thing, own: { readonly [name: string]: unknown }): Thing {
  return new Proxy(target, {
    get: (_, name) => {
      const value = Reflect.get(name in own ? own : target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

test('where the order cannot be found out, events in our own format are sent, and the others later', async () => {
  const tenant = await createTenant(database)
  const receiver = await startReceiver()
  const [own, other] = [
    await createVerifiedEndpoint(database, tenant, receiver.url),
    await createVerifiedEndpoint(database, tenant, receiver.url, ['*'], 'btcpay'),
  ]
  let isBroken = true
  const { delivery } = database.pools
  const brokenClient = (client: PoolClient) =>
    boundTo(client, {
      query: (statement: string | { text: string }, values?: unknown[]) => {
        const text = typeof statement === 'string' ? statement : statement.text
        if (isBroken && text.includes('earlier')) return Promise.reject(new Error('no'))
        return client.query(statement as string, values)
      },
    })
  const pool = boundTo(delivery, { connect: async () => brokenClient(await delivery.connect()) })
  const worker = await startDeliveryWorker({
    pool,
    clock: () => new Date(),
    log: silentLog,
    keyring: testKeyring,
    allowPrivateTest: true,
    formats: EVENT_FORMATS,
  })
  try {
    const tried = async (id: string) => (await attemptsOf(database, id)).map((attempt) => attempt.endpoint_id)
    const [first, second] = [await emitEvent(database, tenant), await emitEvent(database, tenant)]
    for (const id of [first, second])
      await until(async () => (await tried(id)).includes(own.id), { what: 'our own is sent' })
    expect(await tried(first)).toEqual([own.id])
    isBroken = false
    await until(
      async () => {
        await letTimePass(database, 1)
        return (await tried(first)).includes(other.id)
      },
      { what: 'the other is tried' },
    )
  } finally {
    await worker.stop()
    await receiver.close()
  }
})

test('whose turn it is, is found by keys, however many wait at the endpoint', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant, undefined, ['*'], 'btcpay')
  const leaseId = randomUUID()
  const invoices = 2_000
  const held = 64
  await database.owner.query('vacuum analyze event, delivery')
  await database.owner.query(
    `with made as (
       insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
       select $1, 'evt_' || lpad(n::text, 25, '0') || s, false,
         (array['invoice.created', 'invoice.payment_detected', 'invoice.confirming', 'invoice.paid'])[s], 'inv_' || n, s,
         convert_to('{"id":"evt"}', 'UTF8'), now()
       from generate_series(1, $4::int) n, generate_series(1, 4) s returning id, resource_id)
     insert into delivery (merchant_id, id, livemode, endpoint_id, event_id, due_at, give_up_at, lease_id)
     select $1, 'dlv_' || substr(id, 5) || '_' || substr($2, 4), false, $2, id, now() + interval '30 seconds',
       now() + $5 * interval '1 millisecond', case when substr(resource_id, 5)::int <= $6 then $3::uuid end from made`,
    [tenant.merchantId, endpoint.id, leaseId, invoices, GIVE_UP_AFTER_MS, held / 4],
  )
  const { rows } = await database.owner.query<{ id: string }>('select id from delivery where lease_id = $1', [
    leaseId,
  ])
  const ids = rows.map(({ id }) => ({ merchantId: tenant.merchantId, id }))
  const client = await database.pools.delivery.connect()
  try {
    await client.query('set plan_cache_mode = force_generic_plan')
    const tx: QueueTx = {
      inTransaction: true,
      plansByIndexes: true,
      query: async (text: string, values: unknown[] = []) => (await client.query(text, values)) as never,
    }
    const rowsRead = async (): Promise<number> => {
      const { rows: count } = await client.query<{ read: string }>(
        `select sum(idx_tup_fetch + seq_tup_read)::text as read from pg_stat_xact_user_tables
         where relname in ('event', 'delivery')`,
      )
      return Number(count[0]?.read ?? 0)
    }
    await client.query('begin')
    const turns = await readTurns(tx, leaseId, ids)
    expect(await rowsRead()).toBeLessThan(held * 32)
    await client.query('rollback')
    expect(turns).toHaveLength(held)
    expect(turns.filter(({ superseded }) => superseded)).toHaveLength((held * 3) / 4)
    expect(turns.filter(({ superseded, waitMs }) => !superseded && waitMs === null)).toHaveLength(held / 4)
  } finally {
    client.release(true)
  }
})

test('a settlement waits for an event that is being sent, and for no outcome that is still to be recorded', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant, undefined, ['*'], 'btcpay')
  const [leaseId, otherLease] = [randomUUID(), randomUUID()]
  const held = async (dueIn: string): Promise<boolean> => {
    await database.owner.query('delete from delivery where endpoint_id = $1', [endpoint.id])
    await database.owner.query('delete from event where merchant_id = $1', [tenant.merchantId])
    await database.owner.query(
      `with made as (
         insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
         select $1, 'evt_' || lpad(s::text, 26, '0'), false, (array['invoice.confirming', 'invoice.paid'])[s], 'inv_1', s,
           convert_to('{"id":"evt"}', 'UTF8'), now()
         from generate_series(1, 2) s returning id, sequence)
       insert into delivery (merchant_id, id, livemode, endpoint_id, event_id, due_at, give_up_at, lease_id)
       select $1, 'dlv_' || substr(id, 5) || '_' || substr($2, 4), false, $2, id,
         now() + case sequence when 1 then $5 else '30 seconds' end::interval, now() + interval '5 days',
         case sequence when 1 then $4::uuid else $3::uuid end from made`,
      [tenant.merchantId, endpoint.id, leaseId, otherLease, dueIn],
    )
    const id = `dlv_${'2'.padStart(26, '0')}_${endpoint.id.slice(3)}`
    const [turn] = await withQueueTransaction(database.pools.delivery, (tx) =>
      readTurns(tx, leaseId, [{ merchantId: tenant.merchantId, id }]),
    )
    return turn?.waitMs !== null
  }
  expect([await held('10 seconds'), await held('1 hour')]).toEqual([true, false])
})
