import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { openEventFeed } from '../../src/cli/listen.ts'
import { claimDeliveries } from '../../src/delivery/claim.ts'
import { EndpointQueues, WINDOW_START } from '../../src/delivery/endpoint-queues.ts'
import { queueEvent, recoverEvents } from '../../src/flows/redeliver-events.ts'
import { rotateSecret } from '../../src/flows/webhook-endpoints.ts'
import { type Tenant, withTransaction } from '../../src/postgres/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  clearDeliveries,
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  type TestEndpoint,
  testKeyring,
} from '../support/webhook-fixtures.ts'

/** Events of one mode never reach an endpoint of the other, whichever way they are sent. */

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(() => clearDeliveries(database))

const MODES = [
  { from: 'live', to: 'test', livemode: true },
  { from: 'test', to: 'live', livemode: false },
] as const

/** One merchant, seen in each of its modes. */
async function bothModes(livemode: boolean): Promise<{ own: Tenant; other: Tenant }> {
  const own = await createTenant(database, livemode)
  return { own, other: { ...own, livemode: !livemode } }
}

const add = (tenant: Tenant, format = 'paylink'): Promise<TestEndpoint> =>
  createVerifiedEndpoint(database, tenant, undefined, ['*'], format)

/** What a worker would send now, throttled endpoints included: which event to which endpoint, with which secrets. */
async function claimed() {
  const { deliveries } = await claimDeliveries(
    { pool: database.pools.delivery, clock: () => new Date() },
    {
      cursor: '',
      rowsMax: 100,
      rowsByDefault: WINDOW_START,
      roomByQueue: new Map(),
      throttled: new EndpointQueues(100).throttledRoom(100),
    },
  )
  return deliveries.map(({ eventId, endpointId, livemode, secrets }) => ({
    eventId,
    endpointId,
    livemode,
    secrets: secrets.length,
  }))
}

test.each(MODES)(
  'an event of $from mode goes to no endpoint of $to mode, in any format',
  async ({ livemode }) => {
    const { own, other } = await bothModes(livemode)
    const to = await add(own)
    for (const format of ['paylink', 'btcpay', 'coinbase_commerce']) await add(other, format)
    await database.owner.query(
      `insert into delivery_lane (merchant_id, endpoint_id, livemode, failures, next_at)
     select merchant_id, id, livemode, 20, now() from webhook_endpoint where merchant_id = $1`,
      [own.merchantId],
    )
    const eventId = await emitEvent(database, own)
    expect(await claimed()).toEqual([{ eventId, endpointId: to.id, livemode, secrets: 1 }])
  },
)

test.each(MODES)(
  'queue and recover send no event of $from mode to an endpoint of $to mode',
  async ({ livemode }) => {
    const { own, other } = await bothModes(livemode)
    const eventId = await emitEvent(database, own)
    const elsewhere = await emitEvent(database, other)
    const [mine, theirs] = [await add(own), await add(other)]
    const now = new Date()
    const since = new Date(0)
    const { api } = database.pools
    for (const [tenant, endpointId] of [
      [own, theirs.id],
      [other, mine.id],
      [other, theirs.id],
    ] as const) {
      const queued = await withTransaction(api, tenant, (tx) =>
        queueEvent(tx, { tenant, eventId, endpointId, now }),
      )
      expect(queued).toEqual({ kind: 'not_found' })
    }
    const crossed = await withTransaction(api, own, (tx) =>
      recoverEvents(tx, { tenant: own, endpointId: theirs.id, since, now }),
    )
    expect(crossed).toEqual({ kind: 'not_found' })
    expect(await claimed()).toEqual([])
    const recovered = await withTransaction(api, other, (tx) =>
      recoverEvents(tx, { tenant: other, endpointId: theirs.id, since, now }),
    )
    expect(recovered).toMatchObject({ queued: 1 })
    expect(await claimed()).toEqual([
      { eventId: elsewhere, endpointId: theirs.id, livemode: other.livemode, secrets: 1 },
    ])
    const { rows } = await database.owner.query('select event_id, livemode from event_awaiting')
    expect(rows).toEqual([{ event_id: eventId, livemode }])
  },
)

test.each(MODES)(
  'a rotation in $to mode changes nothing of what $from mode is signed with',
  async ({ livemode }) => {
    const { own, other } = await bothModes(livemode)
    const [mine, theirs] = [await add(own), await add(other)]
    const deps = { pool: database.pools.api, clock: () => new Date(), keyring: testKeyring }
    const crossed = await rotateSecret(deps, { tenant: other, endpointId: mine.id, graceSeconds: 60 })
    expect(crossed.kind).toBe('not_found')
    const rotated = await rotateSecret(deps, { tenant: other, endpointId: theirs.id, graceSeconds: 60 })
    expect(rotated.kind).toBe('rotated')
    const eventId = await emitEvent(database, own)
    expect(await claimed()).toEqual([{ eventId, endpointId: mine.id, livemode, secrets: 1 }])
  },
)

test.each(MODES)('listening in $to mode receives no events of $from mode', async ({ livemode }) => {
  const { own, other } = await bothModes(livemode)
  const feed = await openEventFeed({ pool: database.owner, clock: () => new Date() }, other)
  await emitEvent(database, own)
  const heard = await emitEvent(database, other)
  expect((await feed.read()).map(({ id }) => id)).toEqual([heard])
})
