import pino from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type DeliveryWorker, startDeliveryWorker } from '../../src/delivery/worker.ts'
import { disableEndpoint, rotateSecret } from '../../src/flows/webhook-endpoints.ts'
import type { Log } from '../../src/runtime/log.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import {
  clearDeliveries,
  countRows,
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  fillBacklog,
  silentLog,
  testKeyring,
} from '../support/webhook-fixtures.ts'
import { startReceiver, verifiedBy, type WebhookReceiver } from '../support/webhook-receiver.ts'

const LONG = process.env.LONG === '1'
const HERD_ENDPOINTS = 1_000
/** More than the cap, or the cap would never be met. */
const HERD_EVENTS = LONG ? 100 : 12
/** What waits for its backoff is made due again and again: hours pass in seconds. */
const HURRY_EVERY_MS = 250
const HURRIES_MAX = 1_000
/** What an endpoint is sent at once, at most. */
const LANE_CAP = 8
const CONCURRENCY = 256
/** Enough to take every slot of a worker that treats them like others. */
const HANGING_ENDPOINTS = 400
/** More than there are slots for, at eight each. */
const SLOW_ENDPOINTS = 100
const SLOW_EVENTS = 40
const SLOW_ANSWER_MS = 1_100
/** Less than an endpoint that hangs costs whoever waits for it. */
const NEIGHBOUR_MS_MAX = 8_000
const TIMEOUT_MS = 600_000
/** A claim reads the secrets; what waits longer than this for its turn reads them again. */
const SECRETS_AGE_MS_MAX = 200
const SLACK_MS = 2_000

let database: TestDatabase
let receiver: WebhookReceiver
let worker: DeliveryWorker | undefined

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  await clearDeliveries(database)
  receiver = await startReceiver()
})
afterEach(async () => {
  await worker?.stop()
  await receiver.close()
})

async function startWorker(log: Log = silentLog): Promise<void> {
  worker = await startDeliveryWorker({
    pool: database.pools.delivery,
    clock: () => new Date(),
    log,
    keyring: testKeyring,
    listenUrl: database.urls.delivery,
    allowPrivateTest: true,
    concurrency: CONCURRENCY,
  })
}

const signaturesOf = (header: unknown): number => String(header).match(/v1=/g)?.length ?? 0

test.each([1, 86_400])(
  'rotation under load, grace %i s: all requests verify, with both secrets while both are valid',
  async (graceSeconds) => {
    const tenant = await createTenant(database)
    const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
    await startWorker()
    let emitting = true
    const emitter = (async () => {
      while (emitting) await emitEvent(database, tenant)
    })()
    await receiver.waitFor(20)
    const rotation = await rotateSecret(
      { pool: database.pools.api, clock: () => new Date(), keyring: testKeyring },
      { tenant, endpointId: endpoint.id, graceSeconds },
    )
    if (rotation.kind !== 'rotated') throw new Error(rotation.kind)
    const rotatedAtMs = Date.now()
    const endsAtMs = rotation.previousValidUntil.getTime()
    const lastMs = Math.min(endsAtMs, rotatedAtMs + 1_000) + SECRETS_AGE_MS_MAX + 2 * SLACK_MS
    await until(() => (receiver.events.at(-1)?.receivedAtMs ?? 0) > lastMs, { what: 'events flow on' })
    emitting = false
    await emitter

    const settled = rotatedAtMs + SECRETS_AGE_MS_MAX + SLACK_MS
    for (const event of receiver.events) {
      const [old, fresh] = [endpoint.secret, rotation.secret].map((secret) =>
        verifiedBy(event, [secret], event.receivedAtMs),
      )
      const at = event.receivedAtMs
      expect(old ?? fresh).not.toBeNull()
      if (at > settled) expect(fresh).not.toBeNull()
      if (at < endsAtMs - SLACK_MS) expect(old).not.toBeNull()
      if (at > endsAtMs + SECRETS_AGE_MS_MAX + SLACK_MS) {
        expect([old, signaturesOf(event.headers['paylink-signature'])]).toEqual([null, 1])
      }
    }
  },
)

test('soon after an endpoint is disabled under load nothing more is sent to it', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
  await fillBacklog(database, endpoint, 20_000)
  const lines: string[] = []
  await startWorker(pino({ level: 'warn' }, { write: (line) => void lines.push(line) }))
  await receiver.waitFor(200)
  await disableEndpoint({ pool: database.pools.api }, { tenant, endpointId: endpoint.id })
  const disabledAtMs = Date.now()
  try {
    await until(async () => (await countRows(database, 'delivery')) === 0)
  } catch (error) {
    const { rows } = await database.owner.query(
      'select count(*)::int as waiting, count(lease_id)::int as leased, min(due_at), max(due_at), now() from delivery',
    )
    throw new Error(`not all await recovery: ${JSON.stringify(rows)} ${lines.join('')}`, { cause: error })
  }
  await until(() => Date.now() > disabledAtMs + 5_000, { what: 'five seconds pass' })
  expect(receiver.events.filter((event) => event.receivedAtMs > disabledAtMs + 4_000)).toEqual([])
  const delivered = new Set(receiver.events.map((event) => event.headers['paylink-event-id'])).size
  expect(delivered + (await countRows(database, 'event_awaiting'))).toBe(20_000)
})

test('a thousand endpoints that come back together get eight sends at once each, from half of the slots', {
  timeout: TIMEOUT_MS,
}, async () => {
  const tenant = await createTenant(database)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/hooks`
  const endpoints = []
  for (let index = 0; index < HERD_ENDPOINTS; index++) {
    endpoints.push(await createVerifiedEndpoint(database, tenant, `${url}/${index}`))
  }
  await fillHerd(tenant.merchantId, HERD_EVENTS)
  await startWorker()
  const throttled = async () =>
    (await database.owner.query('select from delivery_lane where next_at is not null')).rowCount ?? 0
  for (let hurried = 0; (await throttled()) < HERD_ENDPOINTS; hurried++) {
    if (hurried > HURRIES_MAX) throw new Error(`only ${await throttled()} are throttled`)
    await database.owner.query(
      'update delivery set due_at = now() where lease_id is null and due_at > now() and endpoint_id not in (select endpoint_id from delivery_lane where next_at is not null)',
    )
    await new Promise((resolve) => setTimeout(resolve, HURRY_EVERY_MS))
  }

  const leased = async () =>
    (await database.owner.query('select from delivery where lease_id is not null limit 1')).rowCount ?? 0
  await until(async () => (await leased()) === 0, { what: 'nothing is under way' })

  const herd = await startCountingReceiver(port)
  for (let hurried = 0; (await countRows(database, 'delivery')) > 0; hurried++) {
    if (hurried > HURRIES_MAX) throw new Error(`${await countRows(database, 'delivery')} are not delivered`)
    // What failed as the endpoints came back need not wait for its backoff.
    await database.owner.query('update delivery set due_at = now() where lease_id is null and due_at > now()')
    await new Promise((resolve) => setTimeout(resolve, HURRY_EVERY_MS))
  }
  await herd.close()
  expect(herd.atOnceMax()).toBeLessThanOrEqual(CONCURRENCY)
  // Until they have answered, all of them together have half of the slots.
  expect(herd.probesAtOnceMax()).toBeLessThanOrEqual(CONCURRENCY / 2)
  expect(Math.max(...herd.atOnceMaxByPath().values())).toBeLessThanOrEqual(LANE_CAP)
  expect(herd.received()).toBe(HERD_ENDPOINTS * HERD_EVENTS)
  expect(await throttled()).toBe(0)
})

test('a worker that starts among hundreds of receivers that hang sends to those that answer at once', async () => {
  const [tenant, neighbour] = [await createTenant(database), await createTenant(database)]
  receiver.respond = ({ path }, response) => {
    if (path === '/hooks') response.writeHead(200).end()
  }
  for (let index = 0; index < HANGING_ENDPOINTS; index++) {
    await createVerifiedEndpoint(database, tenant, `${receiver.url}/hang`)
  }
  await fillHerd(tenant.merchantId, 2)
  // What other workers, or this one before it started anew, have learnt of them: half of them are throttled.
  await database.owner.query(
    `insert into delivery_lane (merchant_id, endpoint_id, livemode, failures, next_at)
     select merchant_id, id, livemode, 12, case when hashtext(id) % 2 = 0 then now() end
     from webhook_endpoint where merchant_id = $1`,
    [tenant.merchantId],
  )
  await createVerifiedEndpoint(database, neighbour, receiver.url)
  await startWorker()
  await until(() => receiver.events.some(({ path }) => path !== '/hooks'), { what: 'receivers hang' })
  const arrivals = () => receiver.events.filter(({ path }) => path === '/hooks').length
  for (let event = 1; event <= 20; event++) {
    const startedAt = performance.now()
    await emitEvent(database, neighbour)
    await until(() => arrivals() === event, { what: 'the neighbour is told' })
    expect(performance.now() - startedAt).toBeLessThan(NEIGHBOUR_MS_MAX)
  }
})

test('receivers that answer slowly but well, however many, never hold more than half of the slots', async () => {
  const [tenant, neighbour] = [await createTenant(database), await createTenant(database)]
  let slowAtOnce = 0
  let slowAnswers = 0
  const slowWhileNeighbourWasTold: number[] = []
  receiver.respond = ({ path }, response) => {
    if (path === '/hooks') {
      slowWhileNeighbourWasTold.push(slowAtOnce)
      response.writeHead(200).end()
      return
    }
    slowAtOnce += 1
    setTimeout(() => {
      slowAtOnce -= 1
      slowAnswers += 1
      response.writeHead(200).end()
    }, SLOW_ANSWER_MS)
  }
  for (let index = 0; index < SLOW_ENDPOINTS; index++) {
    await createVerifiedEndpoint(database, tenant, `${receiver.url}/slow`)
  }
  await fillHerd(tenant.merchantId, SLOW_EVENTS)
  await createVerifiedEndpoint(database, neighbour, receiver.url)
  await startWorker()
  // By then each has answered once, and what was sent before anybody knew it is over.
  await until(() => slowAnswers > 2 * SLOW_ENDPOINTS, { what: 'their slowness is known' })
  for (let event = 1; event <= 20; event++) {
    await emitEvent(database, neighbour)
    await until(() => slowWhileNeighbourWasTold.length === event, { what: 'the neighbour is told' })
  }
  expect(slowWhileNeighbourWasTold.filter((count) => count > CONCURRENCY / 2)).toEqual([])
  // And they had what they may have, or this would say nothing.
  expect(Math.max(...slowWhileNeighbourWasTold)).toBeGreaterThan(CONCURRENCY / 4)
})

/** So many events for each endpoint of the merchant. */
async function fillHerd(merchantId: string, eventsEach: number): Promise<void> {
  await database.owner.query(
    `with made as (
       insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
       select $1, 'evt_' || substr(w.id, 4) || n, false, 'invoice.created', 'inv_' || w.id, n, '{}', now()
       from webhook_endpoint w cross join generate_series(1, $2::int) n where w.merchant_id = $1
       returning id, resource_id)
     insert into delivery (merchant_id, id, livemode, endpoint_id, event_id, due_at, give_up_at)
     select $1, 'dlv_' || id, false, substr(resource_id, 5), id, now(), now() + interval '5 days' from made`,
    [merchantId, eventsEach],
  )
}

/** Answers after a moment, and counts how many requests it was sent at once. */
async function startCountingReceiver(port: number) {
  const atOnce = new Map<string, number>()
  const atOnceMaxByPath = new Map<string, number>()
  const answered = new Set<string>()
  let [total, totalMax, received, probes, probesMax] = [0, 0, 0, 0, 0]
  const counted = await startReceiver({
    port,
    respond: ({ path }, response) => {
      received += 1
      total += 1
      totalMax = Math.max(totalMax, total)
      const now = (atOnce.get(path) ?? 0) + 1
      atOnce.set(path, now)
      atOnceMaxByPath.set(path, Math.max(atOnceMaxByPath.get(path) ?? 0, now))
      const isProbe = !answered.has(path)
      if (isProbe) {
        probes += 1
        probesMax = Math.max(probesMax, probes)
      }
      setTimeout(() => {
        if (isProbe) probes -= 1
        total -= 1
        atOnce.set(path, (atOnce.get(path) ?? 0) - 1)
        answered.add(path)
        response.writeHead(200).end()
      }, 20)
    },
  })
  return {
    atOnceMax: () => totalMax,
    probesAtOnceMax: () => probesMax,
    atOnceMaxByPath: () => atOnceMaxByPath,
    received: () => received,
    close: () => counted.close(),
  }
}
