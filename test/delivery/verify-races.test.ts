import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { isStillSendable } from '../../src/db/delivery/deliveries.ts'
import { claimDeliveries } from '../../src/delivery/claim.ts'
import { EndpointQueues } from '../../src/delivery/endpoint-queues.ts'
import { verifyEndpoint } from '../../src/flows/verify-endpoint.ts'
import { disableEndpoint, removeEndpoint, updateEndpoint } from '../../src/flows/webhook-endpoints.ts'
import { withQueueTransaction } from '../../src/postgres/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import {
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  type TestEndpoint,
  testKeyring,
} from '../support/webhook-fixtures.ts'
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts'

const clock = () => new Date()
let database: TestDatabase
let receiver: WebhookReceiver
let endpoint: TestEndpoint

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())
beforeEach(async () => {
  receiver = await startReceiver()
  endpoint = await createVerifiedEndpoint(database, await createTenant(database), receiver.url)
  await setStatus('pending_verification')
})
afterEach(() => receiver.close())

const setStatus = (status: string) =>
  database.owner.query('update webhook_endpoint set status = $2 where id = $1', [endpoint.id, status])

const verify = () =>
  verifyEndpoint(
    { pool: database.pools.api, clock, keyring: testKeyring, allowPrivateTest: true, formats: {} },
    { tenant: endpoint.tenant, endpointId: endpoint.id, requestId: 'req_test' },
  )

/** The receiver answers each challenge rightly, once `before` has happened. */
function answerAfter(before: () => Promise<unknown>): void {
  receiver.respond = (event, response) => {
    const { challenge } = JSON.parse(event.body.toString()).data
    void before().then(() => response.writeHead(200).end(JSON.stringify({ challenge })))
  }
}

test('an endpoint that is disabled while its challenge is on its way stays disabled', async () => {
  const input = { tenant: endpoint.tenant, endpointId: endpoint.id }
  answerAfter(() => disableEndpoint({ pool: database.pools.api }, input))
  expect(await verify()).toMatchObject({ kind: 'verified', endpoint: { status: 'disabled' } })
  answerAfter(async () => {})
  expect(await verify()).toMatchObject({ kind: 'verified', endpoint: { status: 'enabled' } })
})

test('an endpoint that is removed while its challenge is on its way stays removed', async () => {
  const input = { tenant: endpoint.tenant, endpointId: endpoint.id }
  answerAfter(() => removeEndpoint({ pool: database.pools.api, clock }, input))
  expect(await verify()).toEqual({ kind: 'not_found' })
})

test('an endpoint that moves to another URL while its challenge is on its way stays unverified', async () => {
  const input = { tenant: endpoint.tenant, endpointId: endpoint.id, url: 'https://elsewhere.example/hook' }
  answerAfter(() => updateEndpoint({ pool: database.pools.api }, input))
  expect(await verify()).toMatchObject({
    endpoint: { url: input.url, status: 'pending_verification', verifiedAt: null },
  })
})

test('what was claimed before its endpoint moved is not sent, even once the new URL is verified', async () => {
  await setStatus('enabled')
  await emitEvent(database, endpoint.tenant)
  const pool = database.pools.delivery
  const { leaseId, deliveries } = await claimDeliveries(
    { pool, clock },
    {
      cursor: '',
      rowsMax: 10,
      rowsByDefault: 10,
      roomByQueue: new Map(),
      throttled: new EndpointQueues(10).throttledRoom(10),
    },
  )
  const claimed = deliveries.find(({ endpointId }) => endpointId === endpoint.id)
  if (claimed === undefined) throw new Error('nothing was claimed')
  const isSendable = () => withQueueTransaction(pool, (tx) => isStillSendable(tx, claimed, leaseId, 10_000))
  expect(await isSendable()).toBe(true)
  const moved = { tenant: endpoint.tenant, endpointId: endpoint.id, url: `${receiver.url}/new` }
  await updateEndpoint({ pool: database.pools.api }, moved)
  answerAfter(async () => {})
  expect(await verify()).toMatchObject({ endpoint: { url: moved.url, status: 'enabled' } })
  expect(await isSendable()).toBe(false)
})

test('of two challenges at once both are met, and the endpoint is enabled', async () => {
  let arrived = 0
  answerAfter(async () => {
    arrived += 1
    await receiver.waitFor(2)
  })
  const results = await Promise.all([verify(), verify()])
  expect(arrived).toBe(2)
  for (const result of results) {
    expect(result).toMatchObject({ kind: 'verified', endpoint: { status: 'enabled' } })
  }
})
