import { expect, test } from 'vitest'
import { AddressShares, RESERVED_ADDRESSES } from './address-shares.ts'

const KEYSPACE = 'solana-test'
const take = (shares: AddressShares, merchantId: string, count: number, nowMs = 0) => {
  for (let taken = 0; taken < count; taken++) shares.took(KEYSPACE, merchantId, nowMs)
}
const toLeave = (shares: AddressShares, merchantId: string, nowMs = 0) =>
  shares.toLeave(KEYSPACE, merchantId, nowMs)

test('who takes most leaves a reserve, and who takes less may take the last', () => {
  const shares = new AddressShares()
  take(shares, 'busy', 1_000)
  take(shares, 'calm', 60)
  expect([toLeave(shares, 'busy'), toLeave(shares, 'calm'), toLeave(shares, 'new')]).toEqual([
    RESERVED_ADDRESSES,
    0,
    0,
  ])
  expect(shares.toLeave('solana-live', 'busy', 0)).toBe(0)
})

test('who takes alone leaves the reserve to whoever comes, but a handful is nobody’s flood', () => {
  const shares = new AddressShares()
  take(shares, 'alone', 5)
  expect(toLeave(shares, 'alone')).toBe(0)
  take(shares, 'alone', 1)
  expect(toLeave(shares, 'alone')).toBe(RESERVED_ADDRESSES)
})

test('who took most is remembered though more merchants come than are counted at a time', () => {
  const shares = new AddressShares()
  take(shares, 'busy', 100)
  for (let count = 0; count < 10_000; count++) take(shares, `calm-${count}`, 1)
  expect(toLeave(shares, 'busy')).toBe(RESERVED_ADDRESSES)
  expect(toLeave(shares, 'calm-0')).toBe(0)
})

test('a flood is forgotten within two minutes', () => {
  const shares = new AddressShares()
  take(shares, 'busy', 100)
  expect(toLeave(shares, 'busy', 59_000)).toBe(RESERVED_ADDRESSES)
  expect(toLeave(shares, 'busy', 60_000)).toBe(RESERVED_ADDRESSES)
  expect(toLeave(shares, 'busy', 119_000)).toBe(0)
  expect(toLeave(shares, 'busy', 500_000)).toBe(0)
})
