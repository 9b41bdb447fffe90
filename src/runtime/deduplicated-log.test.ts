import { expect, test } from 'vitest'
import { DeduplicatedLog, REPORTED_MAX, withoutNumbers } from './deduplicated-log.ts'

test('each kind of alert about an id is new once, whatever else was said of it', () => {
  const alerts = new DeduplicatedLog()
  expect(alerts.isNew('po_a', 'it waits')).toBe(true)
  expect(alerts.isNew('po_a', 'it was changed')).toBe(true)
  expect(alerts.isNew('po_b', 'it waits')).toBe(true)
  expect(alerts.isNew('po_a', 'it waits')).toBe(false)
  expect(alerts.isNew('po_a', 'it was changed')).toBe(false)
})

test('no more than the newest alerts are remembered', () => {
  const alerts = new DeduplicatedLog()
  for (let count = 0; count <= REPORTED_MAX; count++) alerts.isNew(`po_${count}`, 'it waits')
  expect(alerts.isNew('po_1', 'it waits')).toBe(false)
  expect(alerts.isNew('po_0', 'it waits')).toBe(true)
})

test.each([
  ['nonce too low: next nonce 17, tx nonce 12', 'nonce too low: next nonce 18, tx nonce 12'],
  ['maxFeePerGas: 1, baseFee: 12345', 'maxFeePerGas: 1, baseFee: 987'],
  ['header 0xab12 not found', 'header 0xCD34 not found'],
])('a fault that a node reports with other numbers is the same: %s', (one, other) => {
  expect(withoutNumbers(one)).toBe(withoutNumbers(other))
  expect(withoutNumbers(`${one}, and bad`)).not.toBe(withoutNumbers(one))
})
