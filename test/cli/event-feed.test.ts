import { afterAll, beforeAll, expect, test } from 'vitest'
import { openEventFeed } from '../../src/cli/listen.ts'
import { insertEvent } from '../../src/db/delivery/events.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { newId } from '../../src/runtime/new-id.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { createTenant, emitEvent } from '../support/webhook-fixtures.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const START = Date.now()
/** A clock that a test moves. */
function openFeed(tenant: Tenant) {
  const time = { ms: START }
  const feed = openEventFeed({ pool: database.owner, clock: () => new Date(time.ms) }, tenant)
  return feed.then((opened) => ({ time, read: async () => (await opened.read()).map(({ id }) => id) }))
}

/** An event whose id was made at `madeAtMs` and that is committed now. */
async function commitEvent(
  tenant: Tenant,
  madeAtMs: number,
  resourceId: string,
  sequence = 1,
): Promise<string> {
  const createdAt = new Date(madeAtMs)
  const id = newId('event', createdAt)
  const event = { id, type: 'invoice.created', resourceId, sequence, body: '{}', requestId: null, createdAt }
  await withTransaction(database.owner, tenant, (tx) => insertEvent(tx, tenant, event))
  return id
}

test('earlier commits are left out, and every later one is read once', async () => {
  const tenant = await createTenant(database)
  await emitEvent(database, tenant)
  const feed = await openFeed(tenant)
  expect(await feed.read()).toEqual([])
  const first = await emitEvent(database, tenant)
  const second = await emitEvent(database, tenant)
  expect((await feed.read()).sort()).toEqual([first, second].sort())
  expect(await feed.read()).toEqual([])
})

test('an event that is committed after a later one is still read', async () => {
  const tenant = await createTenant(database)
  const feed = await openFeed(tenant)
  const later = await commitEvent(tenant, START, 'inv_later')
  expect(await feed.read()).toEqual([later])
  const earlier = await commitEvent(tenant, START - 60_000, 'inv_earlier')
  expect(await feed.read()).toEqual([earlier])
  expect(await feed.read()).toEqual([])
})

test('events of one moment are read in the order of their sequence', async () => {
  const tenant = await createTenant(database)
  const feed = await openFeed(tenant)
  const ids: string[] = []
  for (let sequence = 1; sequence <= 20; sequence++)
    ids.push(await commitEvent(tenant, START, 'inv_one', sequence))
  expect(await feed.read()).toEqual(ids)
})

test('a long outage with many events is caught up on without a gap', async () => {
  const tenant = await createTenant(database)
  const feed = await openFeed(tenant)
  const ids: string[] = []
  for (let index = 0; index < 250; index++) ids.push(await commitEvent(tenant, START + index, `inv_${index}`))
  feed.time.ms = START + 3_600_000
  const told: string[] = []
  for (let read = 0; read < 4; read++) told.push(...(await feed.read()))
  expect(told).toEqual(ids)
})

test('events of the other mode and of other merchants are left out', async () => {
  const tenant = await createTenant(database)
  const feed = await openFeed(tenant)
  await emitEvent(database, { ...tenant, livemode: true })
  await emitEvent(database, await createTenant(database))
  expect(await feed.read()).toEqual([])
})
