import { afterAll, beforeAll, beforeEach, expect, inject, test } from 'vitest'
import { migrate } from '../../src/postgres/migrate.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { createTestDatabase } from '../support/database.ts'
import {
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  type TestEndpoint,
} from '../support/webhook-fixtures.ts'

/** Which events stand under "Notifications awaiting delivery": those that an endpoint should have got. */

const URL = 'https://shop.example/hooks'
const SINCE = '2020-01-01T00:00:00Z'

let api: TestApi
let merchant: TestMerchant
beforeAll(async () => {
  api = await createTestApi({ clock: () => new Date() })
})
afterAll(() => api.drop())
beforeEach(async () => {
  merchant = await api.addMerchant()
})

const tenant = () => ({ merchantId: merchant.id, livemode: false })
const endpoint = (subscribed: readonly string[], of = tenant()) =>
  createVerifiedEndpoint(api.database, of, URL, subscribed)
const emit = (type: string) => emitEvent(api.database, tenant(), type)

async function change({ id }: TestEndpoint, assignments: string): Promise<void> {
  await api.database.owner.query(`update webhook_endpoint set ${assignments} where id = $1`, [id])
}

async function awaiting(): Promise<string[]> {
  const answer = await api.call('GET', '/events?delivery=awaiting', { key: merchant.testKey })
  return answer.body.data.map(({ id }: { id: string }) => id)
}

const recover = async (to: TestEndpoint): Promise<number> => {
  const body = { endpoint_id: to.id, since: SINCE }
  return (await api.call('POST', '/events/recover', { key: merchant.testKey, body })).body.queued
}

test('what no endpoint subscribes to awaits nobody, is not recovered, and can be read and queued', async () => {
  await endpoint(['invoice.paid'])
  await change(await endpoint(['invoice.overpaid', 'payout.failed']), `status = 'disabled'`)
  await change(await endpoint(['*']), `removed_at = now() - interval '5 days 1 minute'`)
  const ids = [
    await emit('invoice.created'),
    await emit('invoice.confirming'),
    await emit('payout.requested'),
  ]
  expect(await awaiting()).toEqual([])
  const all = await endpoint(['*'])
  expect(await recover(all)).toBe(0)
  for (const id of ids) {
    expect((await api.call('GET', `/events/${id}`, { key: merchant.testKey })).status).toBe(200)
    const body = { endpoint_id: all.id }
    expect((await api.call('POST', `/events/${id}/queue`, { key: merchant.testKey, body })).status).toBe(200)
  }
})

test.each([
  ['there is no endpoint', async () => {}],
  [
    'one that subscribes is not verified yet',
    async () => {
      await change(await endpoint(['*']), `status = 'pending_verification', verified_at = null`)
    },
  ],
  [
    'one that subscribes is disabled, beside others that do not',
    async () => {
      await endpoint(['invoice.paid'])
      await change(await endpoint(['invoice.created']), `status = 'disabled'`)
    },
  ],
  [
    'all were removed',
    async () => {
      await change(await endpoint(['invoice.paid']), 'removed_at = now()')
    },
  ],
  [
    'the one that subscribes is being replaced, beside another',
    async () => {
      await endpoint(['payout.confirmed'])
      await change(await endpoint(['invoice.created']), 'removed_at = now()')
    },
  ],
  [
    'those of the other mode and of another merchant do not subscribe',
    async () => {
      await endpoint(['invoice.paid'], { ...tenant(), livemode: true })
      await endpoint(['invoice.paid'], { merchantId: (await api.addMerchant()).id, livemode: false })
    },
  ],
])('an event awaits delivery where %s', async (_situation, arrange) => {
  await arrange()
  const id = await emit('invoice.created')
  expect(await awaiting()).toEqual([id])
  expect(await recover(await endpoint(['*']))).toBe(1)
  expect(await awaiting()).toEqual([])
})

test('what an endpoint got, and then was disabled before it took, awaits delivery', async () => {
  const disabled = await endpoint(['invoice.created'])
  const id = await emit('invoice.created')
  const path = `/webhook-endpoints/${disabled.id}/disable`
  expect((await api.call('POST', path, { key: merchant.testKey })).status).toBe(200)
  expect(await awaiting()).toEqual([id])
})

test('events of before are sorted by the endpoints that stood when they were made', async () => {
  const database = await createTestDatabase(inject('postgresUrl'), 'template1')
  try {
    await migrate(database.ownerUrl, { through: 260 })
    const shop = await createTenant(database)
    const add = async (type: string, minutesAgo: number): Promise<string> => {
      const id = `evt_${type}_${minutesAgo}`
      await database.owner.query(
        `with made as (
           insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
           values ($1, $2, false, $3, $2, 1, '{}', now() - $4 * interval '1 minute'))
         insert into event_awaiting values ($1, $2, false, 'no_endpoint', now())`,
        [shop.merchantId, id, type, minutesAgo],
      )
      return id
    }
    const [paid, all] = [
      await createVerifiedEndpoint(database, shop, URL, ['invoice.paid']),
      await createVerifiedEndpoint(database, shop, URL, ['*']),
    ]
    const set = (id: string, times: string) =>
      database.owner.query(`update webhook_endpoint set ${times} where id = $1`, [id])
    await set(paid.id, `created_at = now() - interval '50 minutes'`)
    await set(
      all.id,
      `created_at = now() - interval '30 minutes', removed_at = now() - interval '10 minutes'`,
    )
    const listed = [
      await add('invoice.created', 60),
      await add('invoice.created', 20),
      await add('invoice.paid', 40),
    ]
    await add('invoice.created', 40)
    await add('invoice.created', 5)
    await migrate(database.ownerUrl)
    const { rows } = await database.owner.query<{ event_id: string }>(
      `select event_id from event_awaiting where reason = 'no_endpoint'`,
    )
    expect(rows.map((row) => row.event_id).sort()).toEqual(listed.sort())
  } finally {
    await database.drop()
  }
})
