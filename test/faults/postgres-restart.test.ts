import pino from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startDeliveryWorker } from '../../src/delivery/worker.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type OwnPostgres, startOwnPostgres } from '../support/postgres-server.ts'
import { until } from '../support/until.ts'
import {
  countRows,
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  letTimePass,
  testKeyring,
} from '../support/webhook-fixtures.ts'
import { startReceiver, verifiedBy } from '../support/webhook-receiver.ts'

const LONG = process.env.LONG === '1'
const RESTARTS = LONG ? Number(process.env.LONG_RESTARTS ?? 100) : 2
const TIMEOUT_MS = LONG ? 3_600_000 : 180_000
/** Five seconds where nothing else runs beside it. */
const SENDING_AGAIN_MS_MAX = LONG ? 5_000 : 30_000
const LOG_LINES_PER_RESTART_MAX = 12

let server: OwnPostgres
let database: TestDatabase
beforeAll(async () => {
  server = await startOwnPostgres()
  database = await createTestDatabase(server.ownerUrl)
})
afterAll(async () => {
  await database.drop()
  await server.stop()
})

test('a PostgreSQL that stops or crashes under load loses no committed event; sending resumes soon', {
  timeout: TIMEOUT_MS,
}, async () => {
  const tenant = await createTenant(database)
  const receiver = await startReceiver()
  const endpoint = await createVerifiedEndpoint(database, tenant, receiver.url)
  const logged: string[] = []
  const worker = await startDeliveryWorker({
    pool: database.pools.delivery,
    clock: () => new Date(),
    log: pino({ level: 'debug' }, { write: (line: string) => logged.push(line) }),
    keyring: testKeyring,
    listenUrl: database.urls.delivery,
    allowPrivateTest: true,
  })
  const committed: string[] = []
  let emitting = true
  // What fails in the middle of a restart may be committed or not; what answered is.
  const emitter = (async () => {
    while (emitting) {
      const id = await emitEvent(database, tenant).catch(() => null)
      if (id === null) await new Promise((resolve) => setTimeout(resolve, 20))
      else committed.push(id)
    }
  })()

  for (let restart = 0; restart < RESTARTS; restart++) {
    await receiver.waitFor(receiver.events.length + 50)
    await server.restart(restart % 2 === 0 ? 'immediate' : 'fast')
    const upAt = performance.now()
    const before = receiver.events.length
    await until(() => receiver.events.length > before + 1, { what: 'events arrive again' })
    expect(performance.now() - upAt).toBeLessThan(SENDING_AGAIN_MS_MAX)
  }
  emitting = false
  await emitter
  // What was leased as the server went waits for its lease; here it need not.
  await until(
    async () => {
      await letTimePass(database, 3)
      return (await countRows(database, 'delivery')) === 0
    },
    { what: 'everything is delivered' },
  )
  await worker.stop()
  await receiver.close()

  const received = new Set(receiver.events.map((event) => String(event.headers['paylink-event-id'])))
  expect(committed.filter((id) => !received.has(id))).toEqual([])
  const { rows } = await database.owner.query<{ id: string }>('select id from event')
  expect(received).toEqual(new Set(rows.map((row) => row.id)))
  for (const event of receiver.events) {
    expect(verifiedBy(event, [endpoint.secret], event.receivedAtMs)).toBe(endpoint.secret)
  }
  expect(logged.length).toBeLessThanOrEqual(RESTARTS * LOG_LINES_PER_RESTART_MAX)
})
