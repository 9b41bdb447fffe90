import { expect, test } from 'vitest'
import { merkleRoot } from './hashes.ts'

const leaf = (byte: number) => new Uint8Array(32).fill(byte)

test('a list whose last entries are repeated has no root: it would be the root of the shorter list', () => {
  const [a, b, c, d, e, f] = [1, 2, 3, 4, 5, 6].map(leaf)
  if (!a || !b || !c || !d || !e || !f) throw new Error('six leaves')
  expect(merkleRoot([a, b, c])).not.toBeNull()
  expect(merkleRoot([a, b, c, c])).toBeNull()
  expect(merkleRoot([a, b, c, d, e, f])).not.toBeNull()
  expect(merkleRoot([a, b, c, d, e, f, e, f])).toBeNull()
  expect(merkleRoot([a, a])).toBeNull()
})

test('one transaction is its own root, and none have none', () => {
  expect(merkleRoot([])).toBeNull()
  expect(merkleRoot([leaf(7)])).toEqual(leaf(7))
})
