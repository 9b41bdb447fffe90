import { expect, test } from 'vitest'
import { isDue } from './clock.ts'

test('work is due once its interval has passed, at first, and after the clock was set back', () => {
  expect(isDue(Number.NEGATIVE_INFINITY, 1_000, 0)).toBe(true)
  expect(isDue(5_000, 1_000, 5_999)).toBe(false)
  expect(isDue(5_000, 1_000, 6_000)).toBe(true)
  expect(isDue(5_000_000, 1_000, 0)).toBe(true)
  // A clock that was set back by less than the interval costs at most as much again.
  expect(isDue(5_000, 1_000, 4_500)).toBe(false)
  expect(isDue(5_000, 1_000, 6_000)).toBe(true)
})
