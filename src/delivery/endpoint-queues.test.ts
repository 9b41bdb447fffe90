import { afterEach, expect, test, vi } from 'vitest'
import { BACKOFF_MAX_MS, WAIT_MS_MAX } from '../core/endpoint/backoff.ts'
import { THROTTLED_PACE_MS, THROTTLED_SLOTS_MAX } from '../core/endpoint/throttle.ts'
import { Lanes, WINDOW_START } from './endpoint-queues.ts'
import { CONCURRENCY_DEFAULT } from './worker.ts'

type Row = { readonly endpointId: string; readonly number: number }
const SLOW = { ok: true, durationMs: 5_000 }
const STEADY = { ok: true, durationMs: 500 }
const QUICK = { ok: true, durationMs: 1 }
const FAILED = { ok: false, durationMs: 1 }
const TIMED_OUT = { ok: false, durationMs: 10_000 }

afterEach(() => vi.restoreAllMocks())

const rowsOf = (endpointId: string, count: number): Row[] =>
  Array.from({ length: count }, (_, number) => ({ endpointId, number }))

function sendAll(lanes: Lanes<Row>): Row[] {
  const sent: Row[] = []
  for (let row = lanes.next(); row !== null; row = lanes.next()) sent.push(row)
  return sent
}

test('a lane starts with two at once, doubles with success up to eight, and falls to one after a failure', () => {
  const lanes = new Lanes<Row>(100)
  for (const row of rowsOf('we_a', 30)) lanes.add(row, false)
  const sizes: number[] = []
  for (let round = 0; round < 4; round++) {
    const sent = sendAll(lanes)
    sizes.push(sent.length)
    for (const row of sent) lanes.finished(row, STEADY)
  }
  expect(sizes).toEqual([2, 8, 8, 8])
  const [last, ...more] = sendAll(lanes)
  expect(more).toHaveLength(3)
  if (last === undefined) throw new Error('nothing was sent')
  lanes.finished(last, FAILED)
  expect(lanes.room().get('we_a')).toBe(0)
  for (const row of more) lanes.finished(row, FAILED)
  expect(lanes.room().get('we_a')).toBe(1)
})

test('failing lanes together hold at most half of the slots', () => {
  const lanes = new Lanes<Row>(8)
  const rows = Array.from({ length: 8 }, (_, index) => ({ endpointId: `we_${index}`, number: 0 }))
  for (const row of rows) lanes.add(row, false)
  for (const row of sendAll(lanes)) lanes.finished(row, FAILED)
  for (const row of rows.slice(0, 4)) lanes.add(row, false)
  const [first] = sendAll(lanes)
  expect([...lanes.room().values()]).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
  if (first === undefined) throw new Error('nothing was sent')
  lanes.finished(first, STEADY)
  expect(lanes.room().get('we_7')).toBe(1)
})

test('only a lane that answers quickly is given rows ahead, and a failure gives them back', () => {
  const lanes = new Lanes<Row>(100)
  const grow = (endpointId: string, answer: { ok: boolean; durationMs: number }) => {
    for (const row of rowsOf(endpointId, 6)) lanes.add(row, false)
    for (let sent = sendAll(lanes); sent.length > 0; sent = sendAll(lanes)) {
      for (const row of sent) lanes.finished(row, answer)
    }
  }
  grow('we_quick', QUICK)
  grow('we_slow', SLOW)
  expect(lanes.room().get('we_quick')).toBe(8 + 64)
  expect(lanes.room().get('we_slow')).toBe(8)

  for (const row of rowsOf('we_quick', 20)) lanes.add(row, false)
  const [sent] = sendAll(lanes)
  expect([lanes.inFlight, lanes.held]).toEqual([8, 20])
  if (sent === undefined) throw new Error('nothing was sent')
  expect(lanes.finished(sent, FAILED).map((row) => row.number)).toEqual(
    Array.from({ length: 12 }, (_, index) => 8 + index),
  )
  expect([lanes.inFlight, lanes.held]).toEqual([7, 7])
})

test('lanes take turns for slots, however much each has waiting', () => {
  const lanes = new Lanes<Row>(4)
  for (const row of rowsOf('we_a', 50)) lanes.add(row, false)
  for (const row of rowsOf('we_b', 2)) lanes.add(row, false)
  expect(sendAll(lanes).map((row) => row.endpointId)).toEqual(['we_a', 'we_b', 'we_a', 'we_b'])
  expect(lanes.takeWaiting()).toHaveLength(48)
  expect(lanes.held).toBe(4)
})

test('lanes that were in trouble before this worker knew them count as failing from the start', () => {
  const lanes = new Lanes<Row>(8)
  const troubled = Array.from({ length: 6 }, (_, index) => ({ endpointId: `we_${index}`, number: 0 }))
  expect(troubled.map((row) => lanes.add(row, true))).toEqual([true, true, true, true, false, false])
  expect([sendAll(lanes).length, lanes.confinedRoom]).toEqual([4, 0])
  for (const row of rowsOf('we_healthy', 2)) expect(lanes.add(row, false)).toBe(true)
  expect(sendAll(lanes).map((row) => row.endpointId)).toEqual(['we_healthy', 'we_healthy'])
  const [first] = troubled
  if (first === undefined) throw new Error('no row')
  lanes.finished(first, QUICK)
  expect(lanes.confinedRoom).toBe(1)
})

test('lanes that take seconds for each answer hold at most half of the slots together, each the same part', () => {
  const lanes = new Lanes<Row>(64)
  const names = Array.from({ length: 10 }, (_, index) => `we_slow_${index}`)
  const given = new Map(names.map((name) => [name, 0]))
  for (const name of names) for (const row of rowsOf(name, 2)) lanes.add(row, false)
  let inFlight = sendAll(lanes)
  for (let round = 0; round < 5; round++) {
    for (const row of inFlight) lanes.finished(row, SLOW)
    // As a claim does: what each lane has room for, lanes in the order of their ids.
    const room = lanes.room()
    for (const name of names) {
      for (const row of rowsOf(name, room.get(name) ?? WINDOW_START)) {
        if (lanes.add(row, false)) given.set(name, (given.get(name) ?? 0) + 1)
      }
    }
    inFlight = sendAll(lanes)
    expect(inFlight.length).toBeLessThanOrEqual(32)
  }
  expect(inFlight.length).toBeGreaterThan(20)
  expect([...given.values()]).toEqual(names.map(() => 5 * 3))
  for (const row of rowsOf('we_quick', 2)) lanes.add(row, false)
  expect(sendAll(lanes).map((row) => row.endpointId)).toEqual(['we_quick', 'we_quick'])
})

test('a lane that turns slow gives back what it was given while it was quick', () => {
  const lanes = new Lanes<Row>(100)
  for (const row of rowsOf('we_a', 20)) lanes.add(row, false)
  const [first, second] = sendAll(lanes)
  if (first === undefined || second === undefined) throw new Error('nothing was sent')
  expect(lanes.finished(first, QUICK)).toEqual([])
  sendAll(lanes)
  expect(lanes.finished(second, { ok: true, durationMs: 9_000 })).toHaveLength(20 - 2 - 3)
})

test('a throttled lane gets one row, one more for each minute that it is late, eight a turn at most, and its share', () => {
  const lanes = new Lanes<Row>(64)
  const turn = (lateMinutes: number) => [{ endpointId: 'we_a', lateMs: lateMinutes * 60_000 }]
  for (const [lateMinutes, rows] of [
    [0, 1],
    [0.9, 1],
    [3, 4],
    [7, 8],
    [600, 8],
  ] as const) {
    expect(lanes.throttledRoom(64).rowsOf(turn(lateMinutes)).get('we_a')).toBe(rows)
  }
  for (const row of rowsOf('we_a', 8)) lanes.add(row, true)
  const sent = sendAll(lanes)
  expect(sent).toHaveLength(8)
  expect([...lanes.throttledRoom(64).held]).toEqual([['we_a', 8]])
  expect(lanes.throttledRoom(64).rowsOf(turn(7)).size).toBe(0)
  expect(lanes.throttledRoom(64).rowsOf(turn(8)).get('we_a')).toBe(1)
  for (const row of sent) lanes.finished(row, FAILED)
  const many = Array.from({ length: 40 }, (_, index) => ({ endpointId: `we_${index}`, lateMs: 3_600_000 }))
  const given = lanes.throttledRoom(64).rowsOf(many)
  expect([given.size, new Set(given.values())]).toEqual([32, new Set([1])])
  expect(lanes.throttledRoom(5).rowsOf(many).size).toBe(5)
})

test('one worker tries 100,000 deliveries to an endpoint that hangs within the six hours that turns have', () => {
  let [nowMs, tried, atOnce] = [0, 0, 0]
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const lanes = new Lanes<Row>(CONCURRENCY_DEFAULT)
  const ends: { row: Row; atMs: number }[] = []
  for (; nowMs < BACKOFF_MAX_MS - WAIT_MS_MAX; nowMs += THROTTLED_PACE_MS) {
    for (let next = ends[0]; next !== undefined && next.atMs <= nowMs; next = ends[0]) {
      lanes.finished(next.row, TIMED_OUT)
      ends.shift()
    }
    const given = lanes.throttledRoom(CONCURRENCY_DEFAULT).rowsOf([{ endpointId: 'we_a', lateMs: nowMs }])
    for (const row of rowsOf('we_a', given.get('we_a') ?? 0)) lanes.add(row, true)
    for (const row of sendAll(lanes)) ends.push({ row, atMs: nowMs + TIMED_OUT.durationMs })
    tried += given.get('we_a') ?? 0
    atOnce = Math.max(atOnce, lanes.held)
  }
  expect(atOnce).toBe(THROTTLED_SLOTS_MAX)
  expect(tried).toBeGreaterThan(100_000)
})
