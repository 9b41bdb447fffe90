import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDeliveryWorker } from '../../src/delivery/worker.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  countRows,
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  eventually,
  fillBacklog,
  letTimePass,
  testKeyring,
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
const TIMEOUT_MS = LONG ? 3_600_000 : 60_000

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
    await eventually(() => receiver.events.length > before, `deliveries go on after cut ${cut}`)
  }
  const fresh = await emitEvent(database, tenant)
  await eventually(async () => {
    await letTimePass(database, 20)
    return (await countRows(database, 'delivery')) === 0
  }, 'everything is delivered')
  await worker.stop()
  await receiver.close()
  const received = new Set(receiver.events.map((event) => event.headers['paylink-event-id']))
  expect(received.size).toBe(EVENTS + 1)
  expect(received.has(fresh)).toBe(true)
  expect(logged.length).toBeLessThanOrEqual(CUTS * 8)
})
