import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import {
  attemptsOf,
  clearDeliveries,
  countRows,
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  fillBacklog,
  TEST_SECRET_KEY,
  untilDelivered,
} from '../support/webhook-fixtures.ts'
import { startReceiver, verifiedBy, type WebhookReceiver } from '../support/webhook-receiver.ts'

const SCRIPT = fileURLToPath(new URL('../support/delivery-process.mjs', import.meta.url))
const LONG = process.env.LONG === '1'
const ROUNDS = LONG ? Number(process.env.LONG_KILLS ?? 2_000) : 6
const TIMEOUT_MS = LONG ? 3_600_000 : 120_000
const EVENTS_PER_ROUND = 120
const CONCURRENCY = 16

let database: TestDatabase
let receiver: WebhookReceiver
const children = new Set<ChildProcess>()

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  await clearDeliveries(database)
  receiver = await startReceiver()
})
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL')
  await receiver.close()
})

/** A worker in a process of its own, once it works. */
async function startProcess(): Promise<ChildProcess> {
  const settings = {
    databaseUrl: database.urls.delivery,
    secretKey: TEST_SECRET_KEY.toString('hex'),
    concurrency: CONCURRENCY,
  }
  const child = spawn(process.execPath, [SCRIPT, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.add(child)
  const errors: Buffer[] = []
  child.stderr?.on('data', (chunk: Buffer) => errors.push(chunk))
  await new Promise<void>((resolve, reject) => {
    child.stdout?.once('data', () => resolve())
    child.once('exit', () => reject(new Error(`the worker ended: ${Buffer.concat(errors)}`)))
  })
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
  children.delete(child)
}

/** What thirty seconds do: leases of workers that are gone lapse. Those that have lapsed are left as they are. */
const lapseLeases = () =>
  database.owner.query('update delivery set due_at = now() where lease_id is not null and due_at > now()')

/** What a worker that was killed leaves: nothing more of it arrives, and none of its commits is under way. */
async function settleAfterKill(): Promise<void> {
  await until(async () => (await receiver.openConnections()) === 0, { what: 'what it sent has been read' })
  await until(
    async () => {
      const { rowCount } = await database.owner.query(
        `select from pg_stat_activity where datname = current_database() and application_name = 'paylink-delivery-test'`,
      )
      return rowCount === 0
    },
    { what: 'its sessions end' },
  )
}

/** Events that were sent since the `from`th came and are not recorded as delivered. */
async function unrecordedSince(from: number): Promise<string[]> {
  const sent = receiver.events.slice(from).map((event) => String(event.headers['paylink-event-id']))
  const { rows } = await database.owner.query<{ event_id: string }>(
    `select event_id from attempt where code = 'ok' and event_id = any ($1)`,
    [sent],
  )
  const recorded = new Set(rows.map((row) => row.event_id))
  return sent.filter((id) => !recorded.has(id))
}

test('kill -9 at any moment loses and invents no event; it repeats only what was in flight or unrecorded', {
  timeout: TIMEOUT_MS,
}, async () => {
  const tenant = await createTenant(database)
  const endpoints = []
  for (let index = 0; index < 4; index++)
    endpoints.push(await createVerifiedEndpoint(database, tenant, receiver.url))
  // Some answers take a while, so that kills find requests that are under way, answered and unrecorded.
  receiver.respond = (_event, response) => {
    const slow = receiver.events.length % 5 === 0
    if (slow) setTimeout(() => response.writeHead(200).end(), 15)
    else response.writeHead(200).end()
  }
  /** For each event, how many kills found it in flight or unrecorded. */
  const mayRepeat = new Map<string, number>()
  for (let round = 0; round < ROUNDS; round++) {
    const endpoint = endpoints[round % endpoints.length]
    if (endpoint === undefined) throw new Error('no endpoint')
    await fillRound(endpoint.id, round)
    const child = await startProcess()
    const before = receiver.events.length
    await receiver.waitFor(before + 1 + ((round * 37) % 60))
    await kill(child)
    await settleAfterKill()
    const exposed = await unrecordedSince(before)
    expect(new Set(exposed).size).toBe(exposed.length)
    for (const id of exposed) mayRepeat.set(id, (mayRepeat.get(id) ?? 0) + 1)
    await lapseLeases()
  }
  const last = await startProcess()
  await untilDelivered(database)
  await kill(last)

  const emitted = await database.owner.query<{ id: string }>('select id from event')
  const received = receiver.events.map((event) => String(event.headers['paylink-event-id']))
  expect(new Set(received)).toEqual(new Set(emitted.rows.map((row) => row.id)))
  const copies = new Map<string, number>()
  for (const id of received) copies.set(id, (copies.get(id) ?? 0) + 1)
  // Each is sent again once for each kill that came between its sending and its record, and never otherwise.
  const expected = new Map([...copies.keys()].map((id) => [id, 1 + (mayRepeat.get(id) ?? 0)]))
  expect(copies).toEqual(expected)
  const delivered = await database.owner.query(`select event_id from attempt where code = 'ok'`)
  expect(delivered.rows).toHaveLength(emitted.rows.length)
  expect(await countRows(database, 'event_awaiting')).toBe(0)

  async function fillRound(endpointId: string, round: number): Promise<void> {
    await database.owner.query(
      `with made as (
         insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
         select $1, 'evt_' || $3 || '_' || n, false, 'invoice.created', 'inv_' || $3, n, '{}', now()
         from generate_series(1, $4::int) n returning id)
       insert into delivery (merchant_id, id, livemode, endpoint_id, event_id, due_at, give_up_at)
       select $1, 'dlv_' || id, false, $2, id, now(), now() + interval '5 days' from made`,
      [tenant.merchantId, endpointId, `round${round}`, EVENTS_PER_ROUND],
    )
  }
})

test('what a killed worker held is sent again within a second of the end of its lease of thirty', async () => {
  const tenant = await createTenant(database)
  await createVerifiedEndpoint(database, tenant, receiver.url)
  const answers = [false, true]
  receiver.respond = (_event, response) => {
    if (answers[receiver.events.length - 1] === true) response.writeHead(200).end()
  }
  const first = await startProcess()
  const eventId = await emitEvent(database, tenant)
  await receiver.waitFor(1)
  await kill(first)
  const { rows } = await database.owner.query<{ ms: number }>(
    'select (extract(epoch from due_at - now()) * 1000)::float8 as ms from delivery where lease_id is not null',
  )
  expect(rows).toHaveLength(1)
  expect(rows[0]?.ms).toBeLessThanOrEqual(30_000)
  await startProcess()
  // The rest of the lease, but for its last two seconds, passes here at once.
  const asksAt = performance.now()
  await database.owner.query(`update delivery set due_at = clock_timestamp() + interval '2 seconds'`)
  const answeredAt = performance.now()
  await receiver.waitFor(2)
  expect(performance.now() - asksAt).toBeGreaterThanOrEqual(2_000)
  expect(performance.now() - answeredAt).toBeLessThan(2_000 + 20_000)
  await until(async () => (await countRows(database, 'delivery')) === 0, { what: 'it is delivered' })
  expect(await attemptsOf(database, eventId)).toMatchObject([
    { number: 1, code: 'unknown_outcome' },
    { number: 2, code: 'ok' },
  ])
})

test('a worker that sleeps through its lease changes nothing when it wakes', async () => {
  const tenant = await createTenant(database)
  const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
  let answerFirst = (): void => {}
  receiver.respond = (_event, response) => {
    if (receiver.events.length === 1) answerFirst = () => void response.writeHead(500).end()
    else response.writeHead(200).end()
  }
  const eventId = await emitEvent(database, tenant)
  const sleeper = await startProcess()
  await receiver.waitFor(1)
  sleeper.kill('SIGSTOP')
  await lapseLeases()
  const other = await startProcess()
  await receiver.waitFor(2)
  await until(async () => (await countRows(database, 'delivery')) === 0, {
    what: 'the other worker delivers',
  })
  await kill(other)
  sleeper.kill('SIGCONT')
  answerFirst()
  // The sleeper works again once it delivers something new; by then it has tried to record the old answer.
  const next = await emitEvent(database, tenant)
  await until(async () => (await attemptsOf(database, next)).length === 1, {
    what: 'the sleeper works again',
  })
  expect(await attemptsOf(database, eventId)).toMatchObject([
    { number: 1, code: 'unknown_outcome' },
    { number: 2, code: 'ok' },
  ])
  expect(await countRows(database, 'delivery')).toBe(0)
  const queues = await database.owner.query('select from delivery_lane')
  expect(queues.rowCount).toBe(0)
  for (const event of receiver.events) expect(verifiedBy(event, [endpoint.secret])).toBe(endpoint.secret)
})

test('eight worker processes never send one event twice', async () => {
  const tenant = await createTenant(database)
  for (let index = 0; index < 5; index++) {
    await fillBacklog(database, await createVerifiedEndpoint(database, tenant, receiver.url), 200)
  }
  await Promise.all(Array.from({ length: 8 }, startProcess))
  await until(async () => (await countRows(database, 'delivery')) === 0, { what: 'everything is delivered' })
  expect(receiver.events).toHaveLength(1_000)
  expect(new Set(receiver.events.map((event) => event.headers['paylink-event-id'])).size).toBe(1_000)
})
