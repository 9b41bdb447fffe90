import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  attemptsOf,
  countRows,
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  eventually,
  fillBacklog,
  TEST_SECRET_KEY,
} from '../support/webhook-fixtures.ts'
import { startReceiver, verifiedBy, type WebhookReceiver } from '../support/webhook-receiver.ts'

const SCRIPT = fileURLToPath(new URL('../support/delivery-process.mjs', import.meta.url))
const LONG = process.env.LONG === '1'
const ROUNDS = LONG ? Number(process.env.LONG_KILLS ?? 2_000) : 6
const TIMEOUT_MS = LONG ? 3_600_000 : 60_000
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
  await database.owner.query('truncate delivery, delivery_lane, event_awaiting, attempt, event')
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

/** What thirty seconds do: leases of workers that are gone lapse. */
const lapseLeases = () =>
  database.owner.query('update delivery set due_at = now() where lease_id is not null')

test('kill -9 at any moment loses no event and invents none; each kill repeats at most what was in flight', {
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
  for (let round = 0; round < ROUNDS; round++) {
    const endpoint = endpoints[round % endpoints.length]
    if (endpoint === undefined) throw new Error('no endpoint')
    await fillRound(endpoint.id, round)
    const child = await startProcess()
    const before = receiver.events.length
    await receiver.waitFor(before + 1 + ((round * 37) % 60))
    await kill(child)
    await lapseLeases()
  }
  const last = await startProcess()
  await eventually(async () => (await countRows(database, 'delivery')) === 0, 'everything is delivered')
  await kill(last)

  const emitted = await database.owner.query<{ id: string }>('select id from event')
  const received = receiver.events.map((event) => String(event.headers['paylink-event-id']))
  expect(new Set(received)).toEqual(new Set(emitted.rows.map((row) => row.id)))
  // In flight, or answered and not yet recorded.
  expect(received.length - new Set(received).size).toBeLessThanOrEqual(2 * ROUNDS * CONCURRENCY)
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
  await eventually(async () => (await countRows(database, 'delivery')) === 0, 'the other worker delivers')
  await kill(other)
  sleeper.kill('SIGCONT')
  answerFirst()
  // The sleeper works again once it delivers something new; by then it has tried to record the old answer.
  const next = await emitEvent(database, tenant)
  await eventually(async () => (await attemptsOf(database, next)).length === 1, 'the sleeper works again')
  expect(await attemptsOf(database, eventId)).toMatchObject([
    { number: 1, code: 'unknown_outcome' },
    { number: 2, code: 'ok' },
  ])
  expect(await countRows(database, 'delivery')).toBe(0)
  const lanes = await database.owner.query('select from delivery_lane')
  expect(lanes.rowCount).toBe(0)
  for (const event of receiver.events) expect(verifiedBy(event, [endpoint.secret])).toBe(endpoint.secret)
})

test('eight worker processes never send one event twice', async () => {
  const tenant = await createTenant(database)
  for (let index = 0; index < 5; index++) {
    await fillBacklog(database, await createVerifiedEndpoint(database, tenant, receiver.url), 200)
  }
  await Promise.all(Array.from({ length: 8 }, startProcess))
  await eventually(async () => (await countRows(database, 'delivery')) === 0, 'everything is delivered')
  expect(receiver.events).toHaveLength(1_000)
  expect(new Set(receiver.events.map((event) => event.headers['paylink-event-id'])).size).toBe(1_000)
})
