import { expect, test } from 'vitest'
import { createConcurrencyLimit } from '../../src/http/api/x402.ts'

test('each name has as much under way as it may, whatever its work does, and never blocks another', async () => {
  const limit = createConcurrencyLimit()
  const ends: (() => void)[] = []
  const enter = (invoice: string, merchant: string, fails = false) =>
    limit.run(
      [
        { name: invoice, max: 2 },
        { name: merchant, max: 3 },
      ],
      () =>
        new Promise<string>((resolve, reject) => {
          ends.push(() => (fails ? reject(new Error('it failed')) : resolve('done')))
        }),
    )
  const first = [enter('a', 'shop'), enter('a', 'shop', true)]
  const failing = expect(first[1]).rejects.toThrow('it failed')
  expect(await enter('a', 'shop')).toBeNull()
  first.push(enter('b', 'shop'))
  // The merchant's own bound; another merchant's payments go on.
  expect(await enter('c', 'shop')).toBeNull()
  first.push(enter('d', 'other'))
  for (const end of ends.splice(0)) end()
  await failing
  expect(await Promise.all([first[0], first[2], first[3]])).toEqual(['done', 'done', 'done'])
  const again = [enter('a', 'shop'), enter('a', 'shop'), enter('b', 'shop')]
  expect(ends).toHaveLength(3)
  for (const end of ends) end()
  expect(await Promise.all(again)).toEqual(['done', 'done', 'done'])
})
