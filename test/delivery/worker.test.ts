import { setTimeout as pause } from 'node:timers/promises'
import pino from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  type DeliveryWorker,
  type DeliveryWorkerOptions,
  startDeliveryWorker,
} from '../../src/delivery/worker.ts'
import { createNotifier } from '../../src/postgres/notify.ts'
import { Activity } from '../../src/runtime/activity.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/until.ts'
import {
  attemptsOf,
  clearDeliveries,
  countRows,
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  fillBacklog,
  silentLog,
  testKeyring,
  untilDelivered,
} from '../support/webhook-fixtures.ts'
import { startReceiver, verifiedBy, type WebhookReceiver } from '../support/webhook-receiver.ts'

/** tcpmux: nobody listens there. */
const NOBODYS_PORT = 1

let database: TestDatabase
let receiver: WebhookReceiver
const workers: DeliveryWorker[] = []

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  await clearDeliveries(database)
  receiver = await startReceiver()
})
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.stop()))
  await receiver.close()
})

async function startWorker(options: Partial<DeliveryWorkerOptions> = {}): Promise<DeliveryWorker> {
  const worker = await startDeliveryWorker({
    pool: database.pools.delivery,
    clock: () => new Date(),
    log: silentLog,
    keyring: testKeyring,
    listenUrl: database.urls.delivery,
    allowPrivateTest: true,
    ...options,
  })
  workers.push(worker)
  return worker
}

/** Makes every waiting delivery due now. */
const hurry = () => database.owner.query('update delivery set due_at = now() where lease_id is null')

test('an event arrives once, its exact bytes signed so that node:crypto alone verifies them', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
  await startWorker()
  const eventId = await emitEvent(database, tenant)
  await receiver.waitFor(1)
  const [event] = receiver.events
  if (event === undefined) throw new Error('nothing came')
  expect(verifiedBy(event, [endpoint.secret])).toBe(endpoint.secret)
  expect(verifiedBy(event, ['whsec_other'])).toBeNull()
  expect(event.headers['paylink-event-id']).toBe(eventId)
  expect(event.headers['paylink-version']).toBe('1')
  expect(event.headers['content-type']).toBe('application/json')
  const stored = await database.owner.query('select body from event where id = $1', [eventId])
  expect(event.body.equals(stored.rows[0].body)).toBe(true)
  expect(JSON.parse(event.body.toString()).id).toBe(eventId)
  await until(async () => (await countRows(database, 'delivery')) === 0, { what: 'the delivery is finished' })
  expect(await attemptsOf(database, eventId)).toMatchObject([{ number: 1, code: 'ok', http_status: 200 }])
  expect(receiver.events).toHaveLength(1)
})

test('signing secrets that somebody swapped between two rows sign nothing, and nothing is sent', async () => {
  const tenant = await createTenant(database)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  const { rowCount } = await database.owner.query(
    `update endpoint_secret mine set secret_sealed = other.secret_sealed from endpoint_secret other
     where mine.merchant_id = $1 and other.merchant_id = $1 and other.id <> mine.id`,
    [tenant.merchantId],
  )
  expect(rowCount).toBe(2)
  await startWorker()
  const eventId = await emitEvent(database, tenant)
  await until(async () => (await attemptsOf(database, eventId)).length === 2, { what: 'both were tried' })
  expect((await attemptsOf(database, eventId)).map(({ code }) => code)).toEqual(['internal', 'internal'])
  expect(receiver.events).toEqual([])
})

test('a notification after the commit wakes an idle worker', async () => {
  const tenant = await createTenant(database)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  await startWorker()
  const notifier = createNotifier(database.pools.watcher)
  await emitEvent(database, tenant)
  notifier.deliveriesWaiting()
  await receiver.waitFor(1)
  await notifier.close()
})

test('at rest a notification wakes a worker, and a retry is sent when it is due', async () => {
  const tenant = await createTenant(database)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  receiver.respond = (_event, response) =>
    void response.writeHead(receiver.events.length < 2 ? 500 : 204).end()
  // Longer than the test: what is found at rest is found for another reason.
  const activity = new Activity({ activeMs: 0, restMs: 600_000 })
  await startWorker({ random: () => 0, activity })
  const notifier = createNotifier(database.pools.watcher)
  await emitEvent(database, tenant)
  notifier.deliveriesWaiting()
  await receiver.waitFor(2)
  await until(async () => (await countRows(database, 'delivery')) === 0, { what: 'the delivery is finished' })
  await notifier.close()
})

test('what is notified before a worker listens is sent as soon as it does', async () => {
  const tenant = await createTenant(database)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  const url = new URL(database.urls.delivery)
  const databasePort = Number(url.port)
  const proxy = await startTcpProxy(NOBODYS_PORT)
  url.port = String(proxy.port)
  const activity = new Activity({ activeMs: 0, restMs: 600_000 })
  await startWorker({ activity, listenUrl: url.href })
  // Its first look finds nothing, and it rests.
  await pause(500)
  await emitEvent(database, tenant)
  proxy.aim(databasePort)
  await receiver.waitFor(1)
  await proxy.close()
})

test('a failed attempt is repeated at its backoff with the same id and bytes, and a fresh signature', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
  receiver.respond = (_event, response) =>
    void response.writeHead(receiver.events.length < 3 ? 500 : 204).end()
  await startWorker({ random: () => 0 })
  const eventId = await emitEvent(database, tenant)
  for (const [attempt, delay] of [
    [1, 5_000],
    [2, 15_000],
  ] as const) {
    await until(async () => (await attemptsOf(database, eventId)).length === attempt, {
      what: `attempt ${attempt}`,
    })
    const { rows } = await database.owner.query(
      'select (extract(epoch from due_at - now()) * 1000)::float8 as wait, lease_id from delivery',
    )
    expect(rows[0].lease_id).toBeNull()
    expect(rows[0].wait).toBeGreaterThan(delay - 3_000)
    expect(rows[0].wait).toBeLessThanOrEqual(delay)
    await hurry()
  }
  await receiver.waitFor(3)
  await until(async () => (await countRows(database, 'delivery')) === 0, { what: 'the delivery is finished' })
  expect((await attemptsOf(database, eventId)).map((row) => row.http_status)).toEqual([500, 500, 204])
  expect(new Set(receiver.events.map((event) => event.body.toString())).size).toBe(1)
  expect(new Set(receiver.events.map((event) => event.headers['paylink-event-id'])).size).toBe(1)
  for (const event of receiver.events) expect(verifiedBy(event, [endpoint.secret])).not.toBeNull()
})

test('Retry-After puts off the next attempt', async () => {
  const tenant = await createTenant(database)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  receiver.respond = (_event, response) => void response.writeHead(503, { 'retry-after': '600' }).end()
  await startWorker()
  const eventId = await emitEvent(database, tenant)
  await until(async () => (await attemptsOf(database, eventId)).length === 1, {
    what: 'the attempt is recorded',
  })
  const { rows } = await database.owner.query(
    'select extract(epoch from due_at - now())::float8 as wait from delivery',
  )
  expect(rows[0].wait).toBeGreaterThan(590)
})

test('after five days a delivery is given up and its event awaits recovery', async () => {
  const tenant = await createTenant(database)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  receiver.respond = (_event, response) => void response.writeHead(500).end()
  const eventId = await emitEvent(database, tenant)
  await database.owner.query(`update delivery set attempt = 18, give_up_at = now() + interval '1 hour'`)
  await startWorker()
  await until(async () => (await countRows(database, 'event_awaiting')) === 1, {
    what: 'the event awaits recovery',
  })
  expect(await countRows(database, 'delivery')).toBe(0)
  const { rows } = await database.owner.query('select event_id, reason from event_awaiting')
  expect(rows).toEqual([{ event_id: eventId, reason: 'exhausted' }])
  expect(await attemptsOf(database, eventId)).toMatchObject([
    { number: 19, code: 'http_status', http_status: 500 },
  ])
})

test('410 Gone disables the endpoint and its events await recovery', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
  receiver.respond = (_event, response) => void response.writeHead(410).end()
  const first = await emitEvent(database, tenant)
  await startWorker()
  await until(async () => (await countRows(database, 'event_awaiting')) === 1, {
    what: 'the event awaits recovery',
  })
  const { rows } = await database.owner.query(
    'select status, status_reason from webhook_endpoint where id = $1',
    [endpoint.id],
  )
  expect(rows).toEqual([{ status: 'disabled', status_reason: 'receiver_gone' }])
  expect(await attemptsOf(database, first)).toMatchObject([{ code: 'http_status', http_status: 410 }])
  await emitEvent(database, tenant)
  expect(await countRows(database, 'event_awaiting')).toBe(2)
  expect(receiver.events).toHaveLength(1)
})

test('410 Gone of a URL that is the endpoint’s no more disables nothing, and the event is sent again', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
  let answerOld = (): void => {}
  receiver.respond = ({ path }, response) => {
    const answer = (status: number) => response.writeHead(status).end()
    if (path === '/moved') answer(200)
    else answerOld = () => answer(410)
  }
  const id = await emitEvent(database, tenant)
  await startWorker()
  await receiver.waitFor(1)
  await database.owner.query('update webhook_endpoint set url = $2 where id = $1', [
    endpoint.id,
    new URL('/moved', receiver.url).href,
  ])
  answerOld()
  await until(
    async () => {
      await hurry()
      return (await countRows(database, 'delivery')) === 0
    },
    { what: 'the event is delivered' },
  )
  expect((await attemptsOf(database, id)).map(({ http_status }) => http_status)).toEqual([410, 200])
  expect(await countRows(database, 'event_awaiting')).toBe(0)
  const { rows } = await database.owner.query('select status from webhook_endpoint where id = $1', [
    endpoint.id,
  ])
  expect(rows).toEqual([{ status: 'enabled' }])
})

test('a redirect is a failure and is never followed', async () => {
  const tenant = await createTenant(database)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  const canary = await startReceiver()
  receiver.respond = (_event, response) => void response.writeHead(302, { location: canary.url }).end()
  await startWorker()
  const eventId = await emitEvent(database, tenant)
  await until(async () => (await attemptsOf(database, eventId)).length === 1, {
    what: 'the attempt is recorded',
  })
  expect(await attemptsOf(database, eventId)).toMatchObject([{ code: 'redirect', http_status: 302 }])
  expect(canary.connections()).toBe(0)
  await canary.close()
})

test('no worker ever sends what another holds: four workers, one thousand events, one thousand posts', async () => {
  const tenant = await createTenant(database)
  const other = await createTenant(database)
  const endpoints = await Promise.all(
    [tenant, other, tenant].map((owner) => createVerifiedEndpoint(database, owner, receiver.url)),
  )
  for (const endpoint of endpoints) await fillBacklog(database, endpoint, 334)
  for (let index = 0; index < 4; index++)
    await startWorker({ listenUrl: database.urls.delivery, concurrency: 24 })
  await receiver.waitFor(1_002)
  await until(async () => (await countRows(database, 'delivery')) === 0, { what: 'all are finished' })
  expect(receiver.events).toHaveLength(1_002)
  expect(new Set(receiver.events.map((event) => event.headers['paylink-event-id'])).size).toBe(1_002)
  expect(await countRows(database, 'attempt')).toBe(1_002)
})

test('an endpoint that fails is throttled, each delivery to it is tried, and its first success sends all', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
  receiver.respond = (_event, response) => void response.writeHead(500).end()
  await fillBacklog(database, endpoint, 30)
  await startWorker()
  const untried = async () =>
    (await database.owner.query('select from delivery where attempt = 0')).rowCount ?? 0
  for (let left = await untried(); left > 0; left = await untried()) {
    const before = left
    await until(async () => (await untried()) < before, { what: `more are tried while ${before} are not` })
  }
  const queue = async () => (await database.owner.query('select * from delivery_lane')).rows[0]
  expect((await queue()).next_at).not.toBeNull()

  // After a day of it, each waits for hours; a new event is tried at once, and taken.
  await database.owner.query(
    `update delivery set due_at = now() + interval '5 hours', was_due_at = now() - interval '1 hour' where lease_id is null`,
  )
  await database.owner.query(`update delivery_lane set failing_since = now() - interval '1 day'`)
  receiver.respond = (_event, response) => void response.writeHead(200).end()
  await emitEvent(database, tenant)
  await untilDelivered(database)
  await until(async () => (await queue()) === undefined, { what: 'its failures are forgotten' })
})

test('one hundred thousand rows of a dead endpoint do not stand before a healthy one', async () => {
  const tenant = await createTenant(database)
  const healthy = await createTenant(database)
  const dead = await createVerifiedEndpoint(database, tenant, 'http://localhost:1/hooks')
  await fillBacklog(database, dead, 100_000)
  await createVerifiedEndpoint(database, healthy, receiver.url)
  const startedAt = performance.now()
  await startWorker()
  const emitted = new Set<string>()
  for (let index = 0; index < 50; index++) emitted.add(await emitEvent(database, healthy))
  await receiver.waitFor(50)
  const attempts = await database.owner.query(
    'select count(*)::int as count from attempt where endpoint_id = $1',
    [dead.id],
  )
  // Ten failures, eight under way, then one attempt a second.
  const seconds = (performance.now() - startedAt) / 1_000
  expect(attempts.rows[0].count).toBeLessThan(10 + 8 + seconds)
  expect(new Set(receiver.events.map((event) => event.headers['paylink-event-id']))).toEqual(emitted)
})

test('a disabled endpoint is sent nothing more and its waiting events move to recovery', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
  await database.owner.query(`update webhook_endpoint set status = 'disabled' where id = $1`, [endpoint.id])
  await fillBacklog(database, endpoint, 1_500)
  await database.owner.query(
    `update delivery set due_at = now() + interval '3 hours' where right(id, 1) in ('0', '1')`,
  )
  await startWorker()
  await until(async () => (await countRows(database, 'delivery')) === 0, { what: 'all deliveries are swept' })
  expect(await countRows(database, 'event_awaiting')).toBe(1_500)
  expect(receiver.connections()).toBe(0)
})

test('a lease that lapsed is recorded as an attempt of unknown outcome and the event goes out again', async () => {
  const tenant = await createTenant(database)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  const eventId = await emitEvent(database, tenant)
  await database.owner.query('update delivery set attempt = 1, lease_id = gen_random_uuid(), due_at = now()')
  await startWorker()
  await receiver.waitFor(1)
  await until(async () => (await countRows(database, 'delivery')) === 0, { what: 'the delivery is finished' })
  expect(await attemptsOf(database, eventId)).toMatchObject([
    { number: 1, code: 'unknown_outcome', http_status: null },
    { number: 2, code: 'ok' },
  ])
})

test.each([10, -10])(
  'nothing is sent while host and database clocks are more than thirty seconds apart (%i minutes)',
  async (minutes) => {
    const tenant = await createTenant(database)
    await createVerifiedEndpoint(database, tenant, receiver.url)
    await emitEvent(database, tenant)
    let skewMs = minutes * 60_000
    const worker = await startWorker({ clock: () => new Date(Date.now() + skewMs) })
    await until(() => worker.report().halted === 'clock_skew', { what: 'the worker halts' })
    expect(receiver.connections()).toBe(0)
    await expect
      .poll(async () => (await database.owner.query('select attempt, lease_id from delivery')).rows)
      .toEqual([{ attempt: 0, lease_id: null }])
    skewMs = 0
    await receiver.waitFor(1)
    expect(worker.report().halted).toBeNull()
  },
)

test('a clock that jumps under load never signs a wrong time: it stops with an alarm until the time is set', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
  await fillBacklog(database, endpoint, 2_000)
  const logged: string[] = []
  let skewMs = 0
  const worker = await startWorker({
    clock: () => new Date(Date.now() + skewMs),
    log: pino({ level: 'error' }, { write: (line: string) => logged.push(line) }),
  })
  for (const minutes of [10, -10]) {
    await receiver.waitFor(receiver.events.length + 100)
    skewMs = minutes * 60_000
    await until(() => worker.report().halted === 'clock_skew', { what: 'the worker halts' })
    skewMs = 0
    // What was under way still arrives: it is no sign that the worker goes on.
    await until(() => worker.report().halted === null, { what: 'the worker goes on' })
  }
  await until(async () => (await countRows(database, 'delivery')) === 0, { what: 'everything is delivered' })
  for (const event of receiver.events) {
    expect(verifiedBy(event, [endpoint.secret], event.receivedAtMs)).toBe(endpoint.secret)
  }
  expect(new Set(receiver.events.map((event) => event.headers['paylink-event-id'])).size).toBe(2_000)
  expect(logged.filter((line) => line.includes('clocks are more than 30 s apart'))).toHaveLength(2)
})

test('a graceful stop lets what is in flight end, records it, and leaves no lease behind', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  receiver.respond = (_event, response) => void released.then(() => response.writeHead(200).end())
  await fillBacklog(database, endpoint, 10)
  const worker = await startWorker()
  await receiver.waitFor(1)
  const stopped = worker.stop()
  release()
  await stopped
  const { rows } = await database.owner.query(
    'select count(*)::int as count from delivery where lease_id is not null',
  )
  expect(rows[0].count).toBe(0)
  expect((await countRows(database, 'attempt')) + (await countRows(database, 'delivery'))).toBe(10)
  expect(await countRows(database, 'attempt')).toBe(receiver.events.length)
})
