import { expect, test } from 'vitest'
import { TOLD_MAX, Told } from './told.ts'

test('each kind of complaint about an id is new once, whatever else was said of it', () => {
  const told = new Told()
  expect(told.isNew('po_a', 'it waits')).toBe(true)
  expect(told.isNew('po_a', 'it was changed')).toBe(true)
  expect(told.isNew('po_b', 'it waits')).toBe(true)
  expect(told.isNew('po_a', 'it waits')).toBe(false)
  expect(told.isNew('po_a', 'it was changed')).toBe(false)
})

test('no more than the newest complaints are remembered', () => {
  const told = new Told()
  for (let count = 0; count <= TOLD_MAX; count++) told.isNew(`po_${count}`, 'it waits')
  expect(told.isNew('po_1', 'it waits')).toBe(false)
  expect(told.isNew('po_0', 'it waits')).toBe(true)
})
