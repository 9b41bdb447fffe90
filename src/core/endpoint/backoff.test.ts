import { expect, test } from 'vitest'
import { seededRandom } from '../../../test/support/random.ts'
import { BACKOFF_MAX_MS, GIVE_UP_AFTER_MS, parseRetryAfter, retryDelayMs, WAIT_MS_MAX } from './backoff.ts'

const HOUR_MS = 3_600_000
const LEASE_MS = 30_000
const HISTORIES = 2_000

test('waits grow threefold from five seconds to six hours', () => {
  const waits = Array.from({ length: 12 }, (_, index) => retryDelayMs(index + 1, 0, null))
  expect(waits.slice(0, 4)).toEqual([5_000, 15_000, 45_000, 135_000])
  expect(Math.max(...waits)).toBe(WAIT_MS_MAX)
  expect(retryDelayMs(1_000, 0, null)).toBe(WAIT_MS_MAX)
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
  expect(retryDelayMs(1, 0, 10 * BACKOFF_MAX_MS)).toBe(WAIT_MS_MAX)
})

test('no two attempts are twelve hours apart, whenever throttles begin or end, whatever Retry-After says', () => {
  const random = seededRandom(20_261_122)
  for (let history = 0; history < HISTORIES; history++) {
    let nowMs = 0
    let throttled = random.chance(0.5)
    for (let attempt = 1; nowMs < GIVE_UP_AFTER_MS; attempt++) {
      const retryAfterMs = random.chance(0.3) ? random.below(8 * HOUR_MS) : null
      const waitMs = random.chance(0.05)
        ? LEASE_MS
        : retryDelayMs(attempt, random.below(1_000) / 1_000, retryAfterMs)
      // The throttle may have begun or ended during the wait; a turn comes within the other half of the cap.
      if (random.chance(0.3)) throttled = !throttled
      const turnMs = throttled ? random.below(BACKOFF_MAX_MS - WAIT_MS_MAX) : 0
      expect(waitMs + turnMs).toBeLessThanOrEqual(BACKOFF_MAX_MS)
      nowMs += waitMs + turnMs
    }
  }
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
