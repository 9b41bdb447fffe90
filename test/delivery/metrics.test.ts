import { afterAll, beforeAll, expect, test } from 'vitest'
import { countThrottled, readOldestDue } from '../../src/db/delivery/endpoint-queues.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  type TestEndpoint,
} from '../support/webhook-fixtures.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

test('the age of the oldest due delivery is reported, separately for throttled endpoints', async () => {
  const pool = database.pools.delivery
  expect(await readOldestDue(pool)).toEqual({ seconds: 0, throttledSeconds: 0 })
  expect(await countThrottled(pool)).toBe(0)
  const tenant = await createTenant(database)
  const endpoints: TestEndpoint[] = []
  for (let index = 0; index < 3; index++)
    endpoints.push(await createVerifiedEndpoint(database, tenant, 'http://127.0.0.1:9/hooks'))
  await emitEvent(database, tenant)
  const setDue = (index: number, seconds: number) =>
    database.owner.query(
      `update delivery set due_at = now() - $2 * interval '1 second' where endpoint_id = $1`,
      [endpoints[index]?.id, seconds],
    )
  await setDue(0, -60)
  await setDue(1, 100)
  await setDue(2, 900)
  expect((await readOldestDue(pool)).seconds).toBeGreaterThanOrEqual(900)
  await database.owner.query(
    `insert into delivery_lane (merchant_id, endpoint_id, livemode, failures, next_at) values ($1, $2, false, 10, now())`,
    [tenant.merchantId, endpoints[2]?.id],
  )
  expect(await countThrottled(pool)).toBe(1)
  const { seconds, throttledSeconds } = await readOldestDue(pool)
  expect(throttledSeconds).toBeGreaterThanOrEqual(900)
  expect(seconds).toBeGreaterThanOrEqual(100)
  expect(seconds).toBeLessThan(900)
})
