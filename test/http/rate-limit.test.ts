import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRateLimiter } from '../../src/http/api/rate-limit.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'

let api: TestApi
let merchant: TestMerchant
beforeAll(async () => {
  api = await createTestApi({ rateLimits: { live: 5, test: 10 } })
  merchant = await api.addMerchant()
})
afterAll(() => api.drop())

const ask = (key: string) => api.call('GET', '/assets', { key })

test('a merchant spends its burst, gets 429 at once, and continues at its rate', async () => {
  const first = await ask(merchant.testKey)
  expect(first.status).toBe(200)
  expect(first.headers.get('ratelimit-limit')).toBe('20')
  expect(first.headers.get('ratelimit-remaining')).toBe('19')
  expect(first.headers.get('ratelimit-reset')).toBe('1')
  for (let spent = 1; spent < 20; spent++) expect((await ask(merchant.testKey)).status).toBe(200)
  const refused = await ask(merchant.testKey)
  expect([refused.status, refused.body.error.code, refused.body.error.type]).toEqual([
    429,
    'rate_limited',
    'rate_limit_error',
  ])
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(refused.headers.get('ratelimit-remaining')).toBe('0')
  expect(refused.headers.get('request-id')).not.toBeNull()
  api.time.advance(1_000)
  for (let spent = 0; spent < 10; spent++) expect((await ask(merchant.testKey)).status).toBe(200)
  expect((await ask(merchant.testKey)).status).toBe(429)
})

test('all keys of a merchant spend from one bucket in each mode, and no other merchant does', async () => {
  const shop = await api.addMerchant()
  const keys = [
    shop.testKey,
    ...(await Promise.all([1, 2].map(() => api.addKey(shop.id, false, [])))).map(({ key }) => key),
  ]
  for (let spent = 0; spent < 20; spent++) expect((await ask(keys[spent % 3] ?? '')).status).toBe(200)
  for (const key of keys) expect((await ask(key)).status).toBe(429)
  expect((await ask(shop.liveKey)).headers.get('ratelimit-remaining')).toBe('9')
  const neighbour = await api.addMerchant()
  expect((await ask(neighbour.testKey)).headers.get('ratelimit-remaining')).toBe('19')
})

test('the dashboard goes on for a while where keys have spent everything', () => {
  const limiter = createRateLimiter({ live: 100, test: 100 }, () => 0)
  const preferred = { preferred: true }
  for (let spent = 0; spent < 200; spent++) limiter.take('m', true)
  expect(limiter.take('m', true).allowed).toBe(false)
  for (let spent = 0; spent < 20; spent++)
    expect(limiter.take('m', true, preferred)).toMatchObject({ allowed: true, remaining: 0 })
  expect(limiter.take('m', true, preferred)).toMatchObject({ allowed: false, retryAfterSeconds: 1 })
  expect(limiter.take('m', false).allowed).toBe(true)
})

test('mistakes spend too: a caller cannot probe for free', async () => {
  const { id } = await api.addMerchant()
  const { key } = await api.addKey(id, false, [])
  for (let spent = 0; spent < 20; spent++)
    expect((await api.call('GET', '/invoices', { key })).status).toBe(403)
  expect((await api.call('GET', '/invoices', { key })).status).toBe(429)
})

test('a clock that stands still or jumps far ahead neither refills nor overfills a bucket', () => {
  let now = 0
  const limiter = createRateLimiter({ live: 1, test: 100 }, () => now)
  for (let spent = 0; spent < 200; spent++) expect(limiter.take('k', false).allowed).toBe(true)
  expect(limiter.take('k', false)).toMatchObject({ allowed: false, remaining: 0, retryAfterSeconds: 1 })
  now += 86_400_000
  expect(limiter.take('k', false).remaining).toBe(199)
})

test('buckets of a hundred thousand keys are not all remembered', () => {
  const limiter = createRateLimiter({ live: 1, test: 1 }, () => 0)
  const before = process.memoryUsage().heapUsed
  for (let index = 0; index < 100_000; index++) limiter.take(`key_${index}`, false)
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(120_000_000)
  expect(limiter.take('key_0', false).remaining).toBe(1)
  expect(limiter.take('key_99999', false).allowed).toBe(true)
  expect(limiter.take('key_99999', false).allowed).toBe(false)
})
