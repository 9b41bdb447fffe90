import { expect, test } from 'vitest'
import { createMerchantSlots } from '../../src/http/api/merchant-slots.ts'

/** Work that ends when it is told to. */
function createWork() {
  const ends: (() => void)[] = []
  return { ends, work: () => new Promise<void>((resolve) => ends.push(resolve)) }
}

test('a merchant has eight requests handled at a time; the others wait, and no other merchant does', async () => {
  const slots = createMerchantSlots()
  const { ends, work } = createWork()
  const all = Promise.all(Array.from({ length: 100 }, () => slots.run('a', work)))
  expect(ends).toHaveLength(8)
  expect(await slots.run('b', async () => 'at once')).toBe('at once')
  for (let ended = 0; ended < 100; ended++) {
    ends[ended]?.()
    await new Promise(setImmediate)
  }
  await all
  expect(ends).toHaveLength(100)
})

test('beyond the queue a request is refused with a time to wait, and a failure passes its slot on', async () => {
  const slots = createMerchantSlots()
  const { ends, work } = createWork()
  const all = Array.from({ length: 408 }, () => slots.run('a', work))
  await expect(slots.run('a', work)).rejects.toMatchObject({
    code: 'rate_limited',
    headers: { 'retry-after': '1' },
  })
  for (let ended = 0; ended < 408; ended++) {
    ends[ended]?.()
    await new Promise(setImmediate)
  }
  await Promise.all(all)
  await expect(slots.run('a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  expect(await slots.run('a', async () => 'free')).toBe('free')
})
