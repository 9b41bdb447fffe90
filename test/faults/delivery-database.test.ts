import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDeliveryWorker } from '../../src/delivery/worker.ts'
import { openPool } from '../../src/postgres/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import {
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  fillBacklog,
  letTimePass,
  testKeyring,
  untilDelivered,
} from '../support/webhook-fixtures.ts'
import { startReceiver } from '../support/webhook-receiver.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const LONG = process.env.LONG === '1'
const CUTS = LONG ? Number(process.env.LONG_CUTS ?? 1_000) : 5
const EVENTS = 400 * CUTS
const TIMEOUT_MS = LONG ? 3_600_000 : 120_000
const SLOTS = 8
/** What fails and is tried again says so once each: claiming, recording, upkeep, looking again, giving back; and the stop. */
const LOG_LINES_MAX = 6

test('a database that cuts every connection again and again costs no event and no flood of log lines', {
  timeout: TIMEOUT_MS,
}, async () => {
  const tenant = await createTenant(database)
  const receiver = await startReceiver()
  const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
  await fillBacklog(database, endpoint, EVENTS)
  const logged: string[] = []
  const worker = await startDeliveryWorker({
    pool: database.pools.delivery,
    clock: () => new Date(),
    log: pino({ level: 'debug' }, { write: (line: string) => logged.push(line) }),
    keyring: testKeyring,
    listenUrl: database.urls.delivery,
    allowPrivateTest: true,
  })
  for (let cut = 1; cut <= CUTS; cut++) {
    const before = receiver.events.length
    await database.owner.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    // Leases of claims that were cut before their commit was known lapse; here they need not wait for it.
    await letTimePass(database, 0)
    await until(() => receiver.events.length > before, { what: `deliveries go on after cut ${cut}` })
  }
  const fresh = await emitEvent(database, tenant)
  await untilDelivered(database, () => letTimePass(database, 20))
  await worker.stop()
  await receiver.close()
  const received = new Set(receiver.events.map((event) => event.headers['paylink-event-id']))
  expect(received.size).toBe(EVENTS + 1)
  expect(received.has(fresh)).toBe(true)
  expect(logged.length).toBeLessThanOrEqual(CUTS * 8)
})

test('a database that goes away with hundreds of claimed deliveries is logged once for each task', async () => {
  const tenant = await createTenant(database)
  const receiver = await startReceiver()
  const pool = openPool({
    connectionString: database.urls.delivery,
    applicationName: 'paylink-test',
    max: 4,
    onError: () => {},
  })
  receiver.respond = (_event, response) => void setTimeout(() => response.writeHead(200).end(), 300)
  for (let index = 0; index < 100; index++) {
    await fillBacklog(database, await createVerifiedEndpoint(database, tenant, receiver.url), 4)
  }
  const logged: string[] = []
  const log = pino({ level: 'debug' }, { write: (line: string) => logged.push(line) })
  const worker = await startDeliveryWorker({
    pool,
    clock: () => new Date(),
    log,
    keyring: testKeyring,
    allowPrivateTest: true,
    concurrency: SLOTS,
  })
  await receiver.waitFor(1)
  await until(async () => (await leased()) >= 150, { what: 'more is claimed than can be sent at once' })
  await pool.end()
  const sent = receiver.events.length
  await until(() => worker.report().inFlight === 0, { what: 'what waited was looked at again' })
  // Nothing that had waited went out unseen.
  expect(receiver.events.length).toBeLessThanOrEqual(sent + SLOTS)
  await worker.stop()
  await receiver.close()
  expect(logged.length).toBeLessThanOrEqual(LOG_LINES_MAX)

  async function leased(): Promise<number> {
    const { rows } = await database.owner.query<{ count: number }>(
      'select count(*)::int as count from delivery where lease_id is not null',
    )
    return rows[0]?.count ?? 0
  }
})
