import { afterAll, beforeAll, expect, test } from 'vitest'
import { ROUTES } from '../../src/http/api/routes.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { seededRandom } from '../support/random.ts'
import { type Resources, seedResources } from '../support/resources.ts'

const OPERATIONS = 1_500
const SEED = 20_261_121

const WRITES = ROUTES.filter((route) => route.method !== 'get')

let api: TestApi
let merchant: TestMerchant
let ids: string[]
let endpoints: string[]
beforeAll(async () => {
  api = await createTestApi()
  merchant = await api.addMerchant()
  const other = await api.addMerchant()
  const worlds: Resources[] = []
  for (const merchantId of [merchant.id, other.id]) {
    for (const livemode of [true, false]) worlds.push(await seedResources(api, { merchantId, livemode }))
  }
  for (let index = 0; index < 5; index++) {
    const made = await api.call('POST', '/invoices', {
      key: merchant.liveKey,
      body: { usd_amount: '10', asset: 'LTC' },
    })
    const id = made.body.id
    worlds.push({
      invoice: id,
      event: id,
      webhookEndpoint: id,
      paymentLink: id,
      checkoutSession: id,
      apiKey: id,
      requestLog: id,
      payoutDestination: id,
      payout: id,
      depositAddress: id,
      deposit: id,
    })
  }
  ids = worlds.flatMap((world) => Object.values(world))
  endpoints = worlds.map((world) => world.webhookEndpoint)
})
afterAll(() => api.drop())

/** A hash of every live row of every table. */
async function liveRows(): Promise<unknown> {
  const { owner } = api.database
  const { rows } = await owner.query<{ name: string }>(
    `select table_name as name from information_schema.columns
     where table_schema = 'public' and column_name = 'livemode' order by 1`,
  )
  expect(rows.length).toBeGreaterThan(10)
  const hashes = rows.map(
    ({ name }) =>
      `(select md5(coalesce(string_agg(t::text, ',' order by t::text), '')) from ${name} t where livemode) as ${name}`,
  )
  const hashed = await owner.query(`select ${hashes.join(', ')}`)
  const addresses = await owner.query(
    `select count(*)::int as count from address where keyspace like '%-live' and assigned_at is not null`,
  )
  return { ...hashed.rows[0], addresses: addresses.rows[0].count }
}

test(`random operations with test keys leave every live row as it was (seed ${SEED})`, async () => {
  const random = seededRandom(SEED)
  const before = await liveRows()
  const bodies: readonly (() => object)[] = [
    () => ({ usd_amount: random.pick(['1', '10', '0.1', 'x']), asset: random.pick(['LTC', 'BTC', 'SOL']) }),
    () => ({ resolution: random.pick(['accept', 'dismiss']) }),
    () => ({ url: 'https://shop.example/hook', subscribed_events: ['*'] }),
    () => ({ endpoint_id: random.pick(endpoints), since: '2026-01-01T00:00:00Z' }),
    () => ({ endpoint_id: random.pick(endpoints) }),
    () => ({ grace_seconds: random.pick([0, 60]) }),
    () => ({ scenario: 'exact' }),
    () => ({ destination_id: random.pick(ids), amount: '0.01' }),
    () => ({}),
  ]
  const statuses = new Map<number, number>()
  for (let operation = 0; operation < OPERATIONS; operation++) {
    // Half of the walk makes and changes things, since most routes only read.
    const route = random.chance(0.5) ? random.pick(WRITES) : random.pick(ROUTES)
    const path = route.path.replace(':id', random.pick(ids))
    const search = random.chance(0.2)
      ? random.pick(['?livemode=true', '?limit=100', `?starting_after=${random.pick(ids)}`])
      : ''
    const answer = await api.call(route.method.toUpperCase(), path + search, {
      key: merchant.testKey,
      ...(route.method === 'get'
        ? {}
        : { body: random.chance(0.5) ? (route.example ?? {}) : random.pick(bodies)() }),
      headers: random.chance(0.3) ? { 'idempotency-key': random.pick(['a', 'b', 'c']) } : {},
    })
    expect(answer.status, `${route.operationId} ${answer.text}`).not.toBe(500)
    expect(answer.text).not.toContain('"livemode":true')
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
  }
  expect(await liveRows()).toEqual(before)
  // The walk has met success, mistakes and foreign ids, not one wall alone.
  for (const status of [200, 201, 400, 404])
    expect(statuses.get(status) ?? 0, String(status)).toBeGreaterThan(20)
})
