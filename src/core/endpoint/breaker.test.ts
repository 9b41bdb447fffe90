import { expect, test } from 'vitest'
import { advanceLane, BREAKER_OPENS_AT, type Lane } from './breaker.ts'

const failing = (deliveryId: string, retryAtMs: number) =>
  ({ kind: 'retrying', deliveryId, retryAtMs }) as const

function afterFailures(count: number): Lane | null {
  let lane: Lane | null = null
  for (let index = 1; index <= count; index++) lane = advanceLane(lane, failing(`dlv_${index}`, index * 100))
  return lane
}

test('nine failures in a row leave the lane closed and the tenth opens it with the delivery that failed last', () => {
  expect(afterFailures(BREAKER_OPENS_AT - 1)).toEqual({ failures: 9, probeId: null, probeAtMs: null })
  expect(afterFailures(BREAKER_OPENS_AT)).toEqual({ failures: 10, probeId: 'dlv_10', probeAtMs: 1_000 })
})

test('one success closes the lane and forgets the failures', () => {
  expect(advanceLane(afterFailures(30), { kind: 'succeeded' })).toBeNull()
  expect(advanceLane(afterFailures(9), { kind: 'succeeded' })).toBeNull()
})

test('an open lane probes one delivery at that delivery’s own backoff', () => {
  const opened = afterFailures(10)
  const straggler = advanceLane(opened, failing('dlv_8', 7_777))
  expect(straggler).toEqual({ failures: 11, probeId: 'dlv_10', probeAtMs: 1_000 })
  expect(advanceLane(straggler, failing('dlv_10', 9_999))).toEqual({
    failures: 12,
    probeId: 'dlv_10',
    probeAtMs: 9_999,
  })
})

test('the next in line probes once the probe was given up', () => {
  const opened = afterFailures(10)
  const after = advanceLane(opened, { kind: 'given_up', deliveryId: 'dlv_10', retryAtMs: 5_000 })
  expect(after).toEqual({ failures: 11, probeId: null, probeAtMs: 5_000 })
})
