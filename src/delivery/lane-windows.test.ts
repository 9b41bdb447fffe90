import { expect, test } from 'vitest'
import { createLaneWindows } from './lane-windows.ts'

test('a lane starts with two at once, doubles with success up to eight, and falls to one after a failure', () => {
  const windows = createLaneWindows(100)
  const inFlightMax = (): number => {
    let count = 0
    for (let rows = windows.room().get('we_a') ?? 2; rows > 0; rows = windows.room().get('we_a') ?? 2) {
      for (let index = 0; index < rows; index++) windows.started('we_a')
      count += rows
    }
    for (let index = 0; index < count; index++) windows.finished('we_a', true)
    return count
  }
  expect(inFlightMax()).toBe(2)
  expect(inFlightMax()).toBe(8)
  windows.started('we_a')
  windows.finished('we_a', false)
  expect(inFlightMax()).toBe(1)
  expect(inFlightMax()).toBe(2)
})

test('failing lanes together hold at most half of the slots', () => {
  const windows = createLaneWindows(8)
  const lanes = Array.from({ length: 8 }, (_, index) => `we_${index}`)
  for (const lane of lanes) windows.started(lane)
  for (const lane of lanes) windows.finished(lane, false)
  for (const lane of lanes.slice(0, 4)) windows.started(lane)
  expect([...windows.room().values()]).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
  windows.finished('we_0', true)
  expect(windows.room().get('we_7')).toBe(1)
})
