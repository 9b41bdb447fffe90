import { expect, test } from 'vitest'
import { BACKOFF_MAX_MS, parseRetryAfter, retryDelayMs, THROTTLED_WAIT_MS_MAX } from './backoff.ts'

const CAP_MS = BACKOFF_MAX_MS - 60_000

test('waits grow threefold from five seconds to a minute less than the cap of twelve hours', () => {
  const waits = Array.from({ length: 12 }, (_, index) => retryDelayMs(index + 1, 0, null))
  expect(waits.slice(0, 4)).toEqual([5_000, 15_000, 45_000, 135_000])
  expect(Math.max(...waits)).toBe(CAP_MS)
  expect(retryDelayMs(1_000, 0, null)).toBe(CAP_MS)
})

test('jitter only ever shortens a wait, and by at most a quarter', () => {
  for (let attempt = 1; attempt <= 20; attempt++) {
    const full = retryDelayMs(attempt, 0, null)
    for (const random of [0.1, 0.5, 0.999999]) {
      const wait = retryDelayMs(attempt, random, null)
      expect(wait).toBeLessThanOrEqual(full)
      expect(wait).toBeGreaterThanOrEqual(full * 0.75 - 1)
    }
  }
})

test('Retry-After lengthens a wait up to six hours and never shortens it', () => {
  expect(retryDelayMs(1, 0, 60_000)).toBe(60_000)
  expect(retryDelayMs(1, 0, 1_000)).toBe(5_000)
  expect(retryDelayMs(1, 0, 10 * BACKOFF_MAX_MS)).toBe(THROTTLED_WAIT_MS_MAX)
})

test('while its endpoint is throttled a delivery waits half the cap at most', () => {
  expect(retryDelayMs(3, 0, null, true)).toBe(45_000)
  expect(retryDelayMs(1_000, 0, null, true)).toBe(THROTTLED_WAIT_MS_MAX)
})

test('Retry-After is read as seconds or as a date, and anything else says nothing', () => {
  const now = Date.UTC(2026, 0, 1)
  expect(parseRetryAfter('120', now)).toBe(120_000)
  expect(parseRetryAfter('Thu, 01 Jan 2026 00:01:00 GMT', now)).toBe(60_000)
  expect(parseRetryAfter('Thu, 01 Jan 2020 00:01:00 GMT', now)).toBe(0)
  for (const odd of [undefined, '', 'soon', '-1', '1e9']) {
    const parsed = parseRetryAfter(odd, now)
    expect(parsed === null || parsed >= 0).toBe(true)
  }
  expect(parseRetryAfter('soon', now)).toBeNull()
  expect(parseRetryAfter('99999999999999', now)).toBeNull()
})
