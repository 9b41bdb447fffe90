import { expect, test } from 'vitest'
import type { BlockRef } from '../core/invoice/types.ts'
import { trailAfter } from './trail.ts'

const MAX = 5
const block = (height: number, branch = 'a'): BlockRef => ({ height, hash: `${branch}${height}`, timeMs: 0 })
const read = (from: number, to: number, branch?: string) =>
  Array.from({ length: to - from + 1 }, (_, index) => block(from + index, branch))
const hashes = (trail: readonly BlockRef[]) => trail.map(({ hash }) => hash)

test('the newest blocks are kept', () => {
  const trail = trailAfter([], block(1), read(2, 3), MAX)
  expect(hashes(trailAfter(trail, block(3), read(4, 7), MAX))).toEqual(['a3', 'a4', 'a5', 'a6', 'a7'])
})

test('what a fork left is forgotten', () => {
  const trail = trailAfter([], block(1), read(2, 5), MAX)
  expect(hashes(trailAfter(trail, block(3), read(4, 6, 'b'), MAX))).toEqual(['a2', 'a3', 'b4', 'b5', 'b6'])
})

test('what is not joined to the ancestor is forgotten', () => {
  const trail = trailAfter([], block(1), read(2, 3), MAX)
  expect(hashes(trailAfter(trail, block(9), read(10, 11), MAX))).toEqual(['a9', 'a10', 'a11'])
})
