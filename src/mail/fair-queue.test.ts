import { expect, test } from 'vitest'
import { FairQueue } from './mail.ts'

test('keys take turns, each in its own order, and one that is full keeps no other out', () => {
  const queue = new FairQueue<string>({ perKey: 3, all: 5 })
  const added = ['a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'd1'].map((item) => queue.add(item.slice(0, 1), item))
  expect(added).toEqual([true, true, true, false, true, true, false])
  expect(Array.from({ length: 6 }, () => queue.take())).toEqual(['a1', 'b1', 'c1', 'a2', 'a3', undefined])
  expect(queue.size).toBe(0)
})
