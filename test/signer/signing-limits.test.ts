import { expect, test } from 'vitest'
import { findOverLimit } from '../../src/payouts/sign/signing-limits.ts'

const HOUR_MS = 3_600_000
const payout = { merchantId: 'ours', livemode: true, asset: 'LTC', amount: 1n } as const
const signed = (merchantId: string, count: number, atMs: number) =>
  Array.from(
    { length: count },
    () => ({ merchantId, livemode: true, asset: 'LTC', amount: 1n, atMs, createsAccount: false }) as const,
  )
const heldWith = (before: ReturnType<typeof signed>, nowMs: number) =>
  findOverLimit({ live: {}, test: {} }, payout, before, nowMs)

test('150 payouts of a merchant, and 200 in all, are signed in an hour; the next waits until it is over', () => {
  const nowMs = 2 * HOUR_MS
  const held = { reason: 'payouts_in_hour', until: new Date(nowMs + HOUR_MS) }
  expect(heldWith(signed('ours', 149, nowMs), nowMs)).toBeNull()
  expect(heldWith(signed('ours', 150, nowMs), nowMs)).toEqual(held)
  expect(heldWith(signed('theirs', 199, nowMs), nowMs)).toBeNull()
  expect(heldWith(signed('theirs', 200, nowMs), nowMs)).toEqual(held)
  expect(heldWith(signed('theirs', 200, nowMs), nowMs + HOUR_MS)).toBeNull()
})
