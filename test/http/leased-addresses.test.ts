import pg from 'pg'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createApiApp } from '../../src/http/api/app.ts'
import { addAddresses, callApp, createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { until } from '../support/until.ts'

const HALF_SECOND_MS = 500

let api: TestApi
let merchant: TestMerchant
beforeEach(async () => {
  api = await createTestApi()
  merchant = await api.addMerchant()
})
afterEach(() => api.drop())

type App = TestApi['app']
const order = { usd_amount: '10', asset: 'LTC' }
const create = (app: App, key: string, body: unknown = order) =>
  callApp(app, 'POST', '/invoices', { key: merchant.testKey, body, headers: { 'idempotency-key': key } })
const createMany = (app: App, prefix: string, count: number) =>
  Promise.all(Array.from({ length: count }, (_, place) => create(app, `${prefix}-${place}`)))

const isRefill = (query: unknown) =>
  String((query as { text?: string }).text ?? query).includes('set leased_until')

type Row = { idx: number; address: string }
const addressesWhere = async (condition: string): Promise<Row[]> =>
  (
    await api.database.owner.query<Row>(
      `select idx, address from address where keyspace = 'litecoin-test' and ${condition} order by idx`,
    )
  ).rows
const WAITING = 'leased_until > now() and assigned_at is null'

/** Creates invoices until this process has addresses at hand; returns them. */
async function untilLeased(app: App, prefix: string): Promise<Row[]> {
  expect((await createMany(app, prefix, 12)).map(({ status }) => status)).toEqual(Array(12).fill(201))
  await until(async () => (await addressesWhere(WAITING)).length > 0, { what: 'addresses are leased' })
  return addressesWhere(WAITING)
}

/** Invoices, their addresses, events and stored answers. */
async function countAll(): Promise<number[]> {
  const counts: number[] = []
  for (const table of ['invoice', 'deposit_address', 'event', 'idempotency_key']) {
    const { rows } = await api.database.owner.query(`select count(*)::int as count from ${table}`)
    counts.push(rows[0]?.count)
  }
  return counts
}

test('two processes give out each address once, and one event and answer for each invoice', async () => {
  const other = createApiApp(api.deps)
  await untilLeased(api.app, 'a')
  const answers = (
    await Promise.all([
      createMany(api.app, 'b', 60),
      createMany(other, 'c', 60),
      createMany(api.app, 'd', 60),
    ])
  ).flat()
  expect(answers.map(({ status }) => status)).toEqual(Array(180).fill(201))
  expect(new Set(answers.map(({ body }) => body.address)).size).toBe(180)
  expect(await countAll()).toEqual([192, 192, 192, 192])
  expect(
    (await addressesWhere('leased_until is not null and assigned_at is not null')).length,
  ).toBeGreaterThan(20)
})

test('an invoice with a leased address asks the database once; one without, eight statements', async () => {
  const asked = vi.spyOn(pg.Client.prototype, 'query')
  const countAsked = async (app: App, key: string) => {
    asked.mockClear()
    expect((await create(app, key)).status).toBe(201)
    // The refill of the leases runs beside it.
    return asked.mock.calls.filter(([query]) => !isRefill(query)).length
  }
  try {
    expect((await create(api.app, 'first')).status).toBe(201)
    expect(await countAsked(api.app, 'without')).toBe(8)
    await untilLeased(api.app, 'a')
    await create(api.app, 'refilled')
    expect(await countAsked(api.app, 'with')).toBe(1)
  } finally {
    asked.mockRestore()
  }
})

/** Dollars on Base and Solana, with a pool of addresses for each. */
async function takeDollars(): Promise<void> {
  const { owner } = api.database
  for (const [network, keyspace] of [
    ['base-test', 'evm-test'],
    ['solana-test', 'solana-test'],
  ]) {
    await owner.query(
      `insert into network_state (network, parameters, height, hash, tip_height, status, updated_at)
       values ($1, 'localnet', 100, 'hash', 100, 'ok', now())`,
      [network],
    )
    await owner.query(
      `insert into network_watch (network, keyspace, through, updated_at) values ($1, $2, 1000000000, now())`,
      [network, keyspace],
    )
  }
  await addAddresses(api.database, 'evm-test', 'evm', 400)
  await addAddresses(api.database, 'solana-test', 'solana', 400)
  await owner.query(
    `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, false, $2, now())`,
    [merchant.id, { accepted_assets: ['USDC_BASE', 'USDC_SOLANA', 'PYUSD_SOLANA'] }],
  )
}

test('an invoice in dollars gets an address of each family, and asks the database once for both', async () => {
  await takeDollars()
  const issuedAddresses = { ...api.deps.issuedAddresses, isIssued: async () => true }
  const app = createApiApp({ ...api.deps, issuedAddresses })
  const dollars = { usd_amount: '25.00', asset: 'USD' }
  const made = await Promise.all(Array.from({ length: 12 }, (_, place) => create(app, `a-${place}`, dollars)))
  const leasedIn = async (keyspace: string) =>
    (await api.database.owner.query(`select from address where keyspace = $1 and ${WAITING}`, [keyspace]))
      .rowCount ?? 0
  await until(async () => (await leasedIn('evm-test')) > 0 && (await leasedIn('solana-test')) > 0, {
    what: 'addresses of both are leased',
  })
  const asked = vi.spyOn(pg.Client.prototype, 'query')
  try {
    made.push(await create(app, 'refilled', dollars))
    asked.mockClear()
    made.push(await create(app, 'with', dollars))
    expect(asked.mock.calls.filter(([query]) => !isRefill(query)).length).toBe(1)
  } finally {
    asked.mockRestore()
  }
  expect(made.map(({ status }) => status)).toEqual(Array(14).fill(201))
  const shown = made.map(({ body }) => [body.address, body.also_accepts[0].address])
  expect(new Set(shown.flat()).size).toBe(28)
  const { body } = await callApp(app, 'GET', `/invoices/${made[13]?.body.id}`, { key: merchant.testKey })
  expect(body).toMatchObject({
    asset: 'USDC_BASE',
    amount: '25',
    also_accepts: [
      { asset: 'USDC_SOLANA', address: shown[13]?.[1], amount_remaining: '25' },
      { asset: 'PYUSD_SOLANA', address: shown[13]?.[1], amount_remaining: '25' },
    ],
    token_rates: [
      { symbol: 'USDC', usd_per_unit: '1' },
      { symbol: 'PYUSD', usd_per_unit: '1' },
    ],
  })
  for (const asset of ['USDC_BASE', 'USDC_SOLANA', 'PYUSD_SOLANA'] as const) api.unpriced.add(asset)
  const refused = await create(app, 'unpriced', dollars)
  expect([refused.status, refused.body.error.code, refused.body.error.message]).toEqual([
    503,
    'rate_unavailable',
    "The sources of USDC's price do not agree. The sources of PYUSD's price do not agree.",
  ])
})

test('a repeated key gets its answer byte for byte, and a different request 422', async () => {
  const leased = await untilLeased(api.app, 'a')
  const first = await create(api.app, 'k')
  expect(leased.map(({ address }) => address)).toContain(first.body.address)
  const again = await create(api.app, 'k')
  expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([
    201,
    first.text,
    'true',
  ])
  const reused = await create(api.app, 'k', { ...order, usd_amount: '11' })
  expect([reused.status, reused.body.error.code]).toEqual([422, 'idempotency_key_reused'])
  expect(await countAll()).toEqual([13, 13, 13, 13])
})

test('two hundred requests with one key at two processes make one invoice and one event', async () => {
  const other = createApiApp(api.deps)
  await untilLeased(api.app, 'a')
  await untilLeased(other, 'b')
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, place) => create(place % 2 === 0 ? api.app : other, 'k')),
  )
  const made = answers.filter(({ status }) => status === 201)
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 409]))
  expect(new Set(made.map(({ text }) => text)).size).toBe(1)
  expect(await countAll()).toEqual([25, 25, 25, 25])
})

test('what a killed process had leased is given out by others once the lease has ended', async () => {
  const leased = await untilLeased(api.app, 'a')
  const killed = api.app
  const other = createApiApp(api.deps)
  const taken = (await createMany(other, 'b', 5)).map(({ body }) => body.address)
  const addresses = leased.map(({ address }) => address)
  expect(taken.filter((address) => addresses.includes(address))).toEqual([])
  await api.database.owner.query(`update address set leased_until = now() where leased_until is not null`)
  const later: string[] = []
  // Each process makes too few to lease any itself.
  while (later.length < addresses.length) {
    const count = Math.min(5, addresses.length - later.length)
    const answers = await createMany(createApiApp(api.deps), `c${later.length}`, count)
    later.push(...answers.map(({ body }) => body.address))
  }
  expect(later.toSorted()).toEqual(addresses.toSorted())
  // It was only slow: what it still has in memory is not its own any more.
  const late = await createMany(killed, 'd', 5)
  expect(late.map(({ status }) => status)).toEqual(Array(5).fill(201))
  expect(late.filter(({ body }) => addresses.includes(body.address))).toEqual([])
})

test('a leased address that the watchers do not match any more is given to nobody', async () => {
  await untilLeased(api.app, 'a')
  await api.database.owner.query(`update network_watch set through = -1 where network = 'litecoin-test'`)
  const refused = await create(api.app, 'k')
  expect([refused.status, refused.body.error.code]).toEqual([503, 'asset_unavailable'])
  expect(await countAll()).toEqual([12, 12, 12, 12])
})

test('rules that another process changed hold half a second later, with addresses at hand', async () => {
  await untilLeased(api.app, 'a')
  await api.database.owner.query(
    `insert into payment_rules values ($1, false, '{"accepted_assets":["BTC"]}', now())
     on conflict (merchant_id, livemode) do update set rules = excluded.rules`,
    [merchant.id],
  )
  api.time.advance(HALF_SECOND_MS)
  const refused = await create(api.app, 'k')
  expect([refused.status, refused.body.error.code]).toEqual([400, 'asset_not_accepted'])
})

test('nothing is leased from a pool that runs low', async () => {
  await api.database.owner.query(`delete from address where keyspace = 'litecoin-test'`)
  await addAddresses(api.database, 'litecoin-test', 'regtest', 100)
  expect((await createMany(api.app, 'a', 30)).map(({ status }) => status)).toEqual(Array(30).fill(201))
  expect(await addressesWhere('leased_until is not null')).toEqual([])
})

test('an address that the signer did not sign ends a lease, and stays the next one of its pool', async () => {
  const forged = (await addressesWhere('true'))[14]
  const { issuedAddresses } = api.deps
  const doubting = createApiApp({
    ...api.deps,
    issuedAddresses: { ...issuedAddresses, isIssued: async (_, { idx }) => idx !== forged?.idx },
  })
  const given: string[] = []
  while (given.length < 40) given.push((await create(doubting, `a${given.length}`)).body.address)
  expect(given).not.toContain(forged?.address)
  await until(async () => (await addressesWhere(WAITING)).length === 0, { what: 'no lease is left' })
  expect((await addressesWhere('assigned_at is null'))[0]).toEqual(forged)
  expect((await create(doubting, 'b')).status).toBe(503)
})

test('leased addresses count as taken by the merchant, and are left after twenty seconds', async () => {
  const leased = await untilLeased(api.app, 'a')
  const nowMs = api.deps.clock().getTime()
  await create(api.app, 'k')
  expect(api.deps.issuedAddresses.shares.toLeave('litecoin-test', merchant.id, nowMs)).toBeGreaterThan(0)
  api.time.advance(20_001)
  const later = await create(api.app, 'l')
  expect(leased.map(({ address }) => address)).not.toContain(later.body.address)
})
