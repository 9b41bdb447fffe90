import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRateLimiter } from '../../src/http/rate-limit.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'

let api: TestApi
let merchant: TestMerchant
beforeAll(async () => {
  api = await createTestApi({ rateLimits: { live: 5, test: 10 } })
  merchant = await api.addMerchant()
})
afterAll(() => api.drop())

const ask = (key: string) => api.call('GET', '/assets', { key })

test('a key spends its burst, is told 429 at once, and goes on at its rate', async () => {
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

test('each key has a bucket of its own, and each mode its own rate', async () => {
  const second = await api.addKey(merchant.id, false, [])
  expect((await ask(second.key)).headers.get('ratelimit-remaining')).toBe('19')
  expect((await ask(merchant.liveKey)).headers.get('ratelimit-limit')).toBe('10')
})

test('mistakes spend too: a caller cannot probe for free', async () => {
  const { key } = await api.addKey(merchant.id, false, [])
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
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(50_000_000)
  expect(limiter.take('key_0', false).remaining).toBe(1)
  expect(limiter.take('key_99999', false).allowed).toBe(true)
  expect(limiter.take('key_99999', false).allowed).toBe(false)
})
