import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ASSET_IDS } from '../../src/core/assets.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { until } from '../support/until.ts'

const HOUR_MS = 3_600_000

let api: TestApi
let merchant: TestMerchant
beforeAll(async () => {
  api = await createTestApi()
})
beforeEach(async () => {
  merchant = await api.addMerchant()
  api.unpriced.clear()
})
afterAll(() => api.drop())

const order = {
  usd_amount: '10',
  asset: 'LTC',
  external_reference: 'order 1',
  metadata: { a: 1, b: [2, { c: 3 }] },
}
const create = (key: string, body: unknown = order, apiKey = merchant.testKey) =>
  api.call('POST', '/invoices', { key: apiKey, body, headers: { 'idempotency-key': key } })

async function countOf(table: 'invoice' | 'event' | 'idempotency_key' | 'deposit_address'): Promise<number> {
  const { rows } = await api.database.owner.query<{ count: number }>(
    `select count(*)::int as count from ${table} where merchant_id = $1`,
    [merchant.id],
  )
  return rows[0]?.count ?? -1
}

test('the same request with the same key gets the same answer byte for byte, and makes nothing', async () => {
  const first = await create('k')
  expect(first.status).toBe(201)
  expect(first.headers.has('idempotent-replayed')).toBe(false)
  api.time.advance(71 * HOUR_MS)
  const again = await create('k')
  expect(again.status).toBe(201)
  expect(again.text).toBe(first.text)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
  expect(again.headers.get('request-id')).not.toBe(first.headers.get('request-id'))
  expect([await countOf('invoice'), await countOf('event'), await countOf('deposit_address')]).toEqual([
    1, 1, 1,
  ])
})

test('equal JSON in another spelling is the same request', async () => {
  const first = await create('k')
  const text = `{ "metadata": {"b":[2.0,{"c":3}],"a":1e0}, "external_reference":"order \\u0031", "asset":"LTC","usd_amount":"10" }`
  const again = await api.call('POST', '/invoices', {
    key: merchant.testKey,
    text,
    headers: { 'idempotency-key': 'k', 'content-type': 'application/json; charset=utf-8' },
  })
  expect(again.text).toBe(first.text)
})

test('a different request with the same key is 422, and its own 400s come first', async () => {
  await create('k')
  const reused = await create('k', { ...order, usd_amount: '10.01' })
  expect([reused.status, reused.body.error.code]).toEqual([422, 'idempotency_key_reused'])
  expect(reused.body.error.type).toBe('idempotency_error')
  const refused = await create('k', { ...order, usd_amount: '0.01' })
  expect([refused.status, refused.body.error.code]).toEqual([400, 'amount_too_small'])
  const unaccepted = await withRules({ accepted_assets: ['BTC'] }, () =>
    create('k', { ...order, usd_amount: '11' }),
  )
  expect([unaccepted.status, unaccepted.body.error.code]).toEqual([400, 'asset_not_accepted'])
  expect(await countOf('invoice')).toBe(1)
})

test('a repeat is answered though it could not be made any more', async () => {
  const first = await create('k')
  api.unpriced.add('LTC')
  expect((await create('k')).text).toBe(first.text)
  const replayed = await withRules({ accepted_assets: ['BTC'] }, () => create('k'))
  expect(replayed.text).toBe(first.text)
})

test('only what succeeded is kept: after an error the same request executes', async () => {
  for (const asset of ASSET_IDS) api.unpriced.add(asset)
  const failed = await create('k')
  expect([failed.status, failed.body.error.code]).toEqual([503, 'rate_unavailable'])
  expect(await countOf('idempotency_key')).toBe(0)
  api.unpriced.clear()
  expect((await create('k')).status).toBe(201)
})

test('keys belong to one merchant in one mode', async () => {
  const other = await api.addMerchant()
  const answers = [
    await create('k'),
    await create('k', order, merchant.liveKey),
    await create('k', order, other.testKey),
  ]
  expect(answers.map((answer) => answer.status)).toEqual([201, 201, 201])
  expect(new Set(answers.map((answer) => answer.body.id)).size).toBe(3)
  const second = await api.addKey(merchant.id, false, ['invoices:write'])
  expect((await create('k', order, second.key)).text).toBe(answers[0]?.text)
})

test('keys belong to one route', async () => {
  await create('k')
  const endpoint = await api.call('POST', '/webhook-endpoints', {
    key: merchant.testKey,
    body: { url: 'https://shop.example/hook', subscribed_events: ['*'] },
    headers: { 'idempotency-key': 'k' },
  })
  expect(endpoint.status).toBe(201)
})

test('a secret that is shown once is shown again to a repeat, and stands in no table', async () => {
  const body = { url: 'https://shop.example/hook', subscribed_events: ['*'] }
  const make = () =>
    api.call('POST', '/webhook-endpoints', {
      key: merchant.testKey,
      body,
      headers: { 'idempotency-key': 'k' },
    })
  const first = await make()
  expect((await make()).text).toBe(first.text)
  const secret: string = first.body.secret
  const { rows } = await api.database.owner.query<{ body: Buffer }>(
    `select response_body as body from idempotency_key where merchant_id = $1`,
    [merchant.id],
  )
  expect(rows).toHaveLength(1)
  expect(
    rows[0]?.body.includes(secret) ||
      rows[0]?.body.toString('hex').includes(Buffer.from(secret).toString('hex')),
  ).toBe(false)
})

test('a kept answer opens in its own row only', async () => {
  await create('a')
  await create('b', { ...order, usd_amount: '20' })
  await api.database.owner.query(
    `update idempotency_key set response_body = (select response_body from idempotency_key where merchant_id = $1 and key = 'b')
     where merchant_id = $1 and key = 'a'`,
    [merchant.id],
  )
  expect((await create('a')).status).toBe(500)
})

test('after 72 hours a key is as new', async () => {
  const first = await create('k')
  api.time.advance(72 * HOUR_MS)
  const again = await create('k', { ...order, usd_amount: '12' })
  expect(again.status).toBe(201)
  expect(again.body.id).not.toBe(first.body.id)
  expect(await countOf('idempotency_key')).toBe(1)
})

test('a key is 1 to 255 printable ASCII characters', async () => {
  for (const key of ['a'.repeat(256), 'ü', '\u007f', 'a\tb']) {
    const answer = await create(key)
    expect([answer.status, answer.body.error.code, answer.body.error.param]).toEqual([
      400,
      'idempotency_key_invalid',
      'Idempotency-Key',
    ])
  }
  expect((await create('a'.repeat(255))).status).toBe(201)
  expect((await create('!~ "\'; drop table invoice')).status).toBe(201)
})

test('two hundred at once make one invoice and one event', async () => {
  const answers = await Promise.all(Array.from({ length: 200 }, () => create('k')))
  const made = answers.filter((answer) => answer.status === 201)
  const inUse = answers.filter((answer) => answer.status === 409)
  expect(made.length + inUse.length).toBe(200)
  expect(made.length).toBeGreaterThan(0)
  expect(new Set(made.map((answer) => answer.text)).size).toBe(1)
  expect(made.filter((answer) => !answer.headers.has('idempotent-replayed'))).toHaveLength(1)
  for (const answer of inUse) expect(answer.body.error.code).toBe('idempotency_key_in_use')
  expect([await countOf('invoice'), await countOf('event'), await countOf('deposit_address')]).toEqual([
    1, 1, 1,
  ])
  expect((await create('k')).text).toBe(made[0]?.text)
})

test('a request whose key is in use by another is 409 without waiting', async () => {
  const lock = await api.database.owner.connect()
  try {
    await lock.query('begin')
    // Holds the first request where it would keep its answer, so that it stays in flight.
    await lock.query('lock table idempotency_key in share row exclusive mode')
    const inFlight = create('k2')
    await until(async () => {
      const waiting = await api.database.owner.query(
        `select from pg_locks where not granted and locktype = 'relation' and database = (select oid from pg_database where datname = current_database())`,
      )
      return (waiting.rowCount ?? 0) > 0
    })
    const second = await create('k2')
    expect([second.status, second.body.error.code]).toEqual([409, 'idempotency_key_in_use'])
    await lock.query('rollback')
    expect((await inFlight).status).toBe(201)
  } finally {
    lock.release()
  }
})

async function withRules<Result>(rules: object, work: () => Promise<Result>): Promise<Result> {
  await api.database.owner.query(
    `insert into payment_rules (merchant_id, livemode, rules, updated_at) values ($1, false, $2, now())`,
    [merchant.id, JSON.stringify(rules)],
  )
  api.time.advance(1_000)
  try {
    return await work()
  } finally {
    await api.database.owner.query('delete from payment_rules where merchant_id = $1', [merchant.id])
    api.time.advance(1_000)
  }
}
