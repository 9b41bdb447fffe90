import { afterAll, beforeAll, expect, test } from 'vitest'
import { claimDeliveries } from '../../src/delivery/claim.ts'
import { EndpointQueues } from '../../src/delivery/endpoint-queues.ts'
import { type Outcome, recordOutcomes } from '../../src/delivery/record-outcomes.ts'
import { sendToRecovered, sweepDeliveries } from '../../src/delivery/upkeep.ts'
import { disableEndpoint } from '../../src/flows/webhook-endpoints.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type Random, seededRandom } from '../support/random.ts'
import {
  clearDeliveries,
  countRows,
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
} from '../support/webhook-fixtures.ts'

const LONG = process.env.LONG === '1'
const ROUNDS = LONG ? Number(process.env.LONG_LOCK_ROUNDS ?? 1_000) : 40
const ENDPOINTS = 6
const EVENTS = 20
const BATCHES = 3
const TIMEOUT_MS = LONG ? 3_600_000 : 60_000

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const clock = () => new Date()

/** Takes some deliveries and makes up how each ended, in any order; some answered 410, some have failed for the last time. */
async function claimBatch(random: Random): Promise<Outcome[]> {
  const claimed = await claimDeliveries(
    { pool: database.pools.delivery, clock },
    {
      cursor: '',
      rowsMax: 40,
      rowsByDefault: 7,
      roomByQueue: new Map(),
      throttled: new EndpointQueues(80).throttledRoom(40),
    },
  )
  const outcomes = claimed.deliveries.map((delivery): Outcome => {
    const httpStatus = random.pick([200, 200, 200, 500, 500, 500, 500, 410])
    const code = httpStatus === 200 ? 'ok' : 'http_status'
    return {
      delivery: { ...delivery, giveUpAtMs: random.chance(0.3) ? 0 : delivery.giveUpAtMs },
      leaseId: claimed.leaseId,
      result: { code, httpStatus, retryAfterMs: null, durationMs: 1, error: null },
    }
  })
  return outcomes.sort(() => (random.chance(0.5) ? 1 : -1))
}

test('recording, sweeping and disabling at once never deadlock, whatever their order', {
  timeout: TIMEOUT_MS,
}, async () => {
  const random = seededRandom(20_261_121)
  const tenant = await createTenant(database)
  const endpoints: string[] = []
  for (let index = 0; index < ENDPOINTS; index++) {
    endpoints.push((await createVerifiedEndpoint(database, tenant, `http://localhost:9/${index}`)).id)
  }
  const { delivery, api } = database.pools
  const recorder = { pool: delivery, clock, random: Math.random }
  for (let round = 0; round < ROUNDS; round++) {
    await clearDeliveries(database)
    await database.owner.query(`update webhook_endpoint set status = 'enabled', status_reason = null`)
    for (let event = 0; event < EVENTS; event++) await emitEvent(database, tenant)
    // EndpointQueues that are in trouble, so that batches meet in closing and opening them.
    await database.owner.query(
      `insert into delivery_lane (merchant_id, endpoint_id, livemode, failures, failing_since, next_at)
       select merchant_id, id, livemode, 12, now() - interval '1 hour', case when hashtext(id) % 4 = 0 then now() end
       from webhook_endpoint where hashtext(id) % 2 = 0`,
    )
    const batches: Outcome[][] = []
    for (let batch = 0; batch < BATCHES; batch++) batches.push(await claimBatch(random))
    expect(batches.flat().length).toBeGreaterThan(EVENTS)
    // Some leases have lapsed: whoever sweeps may take their rows.
    await database.owner.query(
      `update delivery set due_at = now() where lease_id is not null and hashtext(id) % 3 = 0`,
    )
    const disabled = [random.pick(endpoints), random.pick(endpoints)]
    await Promise.all([
      ...batches.map((batch) => recordOutcomes(recorder, batch)),
      ...disabled.map((endpointId) => disableEndpoint({ pool: api }, { tenant, endpointId })),
      sweepDeliveries(delivery),
      sweepDeliveries(delivery),
      sendToRecovered(delivery),
      sendToRecovered(delivery),
    ])
    // What was passed over is swept next time.
    await sweepDeliveries(delivery)
    const { rowCount } = await database.owner.query(
      `select from delivery d join webhook_endpoint w on w.merchant_id = d.merchant_id and w.id = d.endpoint_id
       where w.status = 'disabled' and (d.lease_id is null or d.due_at <= now())`,
    )
    expect(rowCount).toBe(0)
  }
  const { rows } = await database.owner.query<{ deadlocks: number }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  )
  expect(rows).toEqual([{ deadlocks: 0 }])
  expect(await countRows(database, 'event')).toBe(EVENTS)
})
