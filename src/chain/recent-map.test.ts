import { expect, test } from 'vitest'
import { RecentMap } from './recent-map.ts'

test('holds no more than its maximum of entries, or of their sizes, and forgets the oldest', () => {
  const few = new RecentMap<string, number>(2)
  for (const key of ['a', 'b', 'a', 'c']) few.set(key, 1)
  expect(['a', 'b', 'c'].map((key) => few.has(key))).toEqual([true, false, true])
  const texts = new RecentMap<string, string>(10, (text) => text.length)
  for (const [key, length] of [
    ['a', 4],
    ['b', 4],
    ['a', 6],
    ['c', 9],
    ['d', 11],
    ['e', 10],
  ] as const) {
    texts.set(key, 'x'.repeat(length))
  }
  expect(['a', 'b', 'c', 'd', 'e'].filter((key) => texts.has(key))).toEqual(['e'])
})
