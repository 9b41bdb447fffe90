import { afterEach, expect, test, vi } from 'vitest'
import { BACKOFF_MAX_MS, WAIT_MS_MAX } from '../core/endpoint/backoff.ts'
import { THROTTLED_PACE_MS, THROTTLED_SLOTS_MAX } from '../core/endpoint/throttle.ts'
import { EndpointQueues, WINDOW_START } from './endpoint-queues.ts'
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

function sendAll(queues: EndpointQueues<Row>): Row[] {
  const sent: Row[] = []
  for (let row = queues.next(); row !== null; row = queues.next()) sent.push(row)
  return sent
}

test('a queue starts with two at once, doubles with success up to eight, and falls to one after a failure', () => {
  const queues = new EndpointQueues<Row>(100)
  for (const row of rowsOf('we_a', 30)) queues.add(row, false)
  const sizes: number[] = []
  for (let round = 0; round < 4; round++) {
    const sent = sendAll(queues)
    sizes.push(sent.length)
    for (const row of sent) queues.finished(row, STEADY)
  }
  expect(sizes).toEqual([2, 8, 8, 8])
  const [last, ...more] = sendAll(queues)
  expect(more).toHaveLength(3)
  if (last === undefined) throw new Error('nothing was sent')
  queues.finished(last, FAILED)
  expect(queues.room().get('we_a')).toBe(0)
  for (const row of more) queues.finished(row, FAILED)
  expect(queues.room().get('we_a')).toBe(1)
})

test('failing queues together hold at most half of the slots', () => {
  const queues = new EndpointQueues<Row>(8)
  const rows = Array.from({ length: 8 }, (_, index) => ({ endpointId: `we_${index}`, number: 0 }))
  for (const row of rows) queues.add(row, false)
  for (const row of sendAll(queues)) queues.finished(row, FAILED)
  for (const row of rows.slice(0, 4)) queues.add(row, false)
  const [first] = sendAll(queues)
  expect([...queues.room().values()]).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
  if (first === undefined) throw new Error('nothing was sent')
  queues.finished(first, STEADY)
  expect(queues.room().get('we_7')).toBe(1)
})

test('only a queue that answers quickly is given rows ahead, and a failure gives them back', () => {
  const queues = new EndpointQueues<Row>(100)
  const grow = (endpointId: string, answer: { ok: boolean; durationMs: number }) => {
    for (const row of rowsOf(endpointId, 6)) queues.add(row, false)
    for (let sent = sendAll(queues); sent.length > 0; sent = sendAll(queues)) {
      for (const row of sent) queues.finished(row, answer)
    }
  }
  grow('we_quick', QUICK)
  grow('we_slow', SLOW)
  expect(queues.room().get('we_quick')).toBe(8 + 64)
  expect(queues.room().get('we_slow')).toBe(8)

  for (const row of rowsOf('we_quick', 20)) queues.add(row, false)
  const [sent] = sendAll(queues)
  expect([queues.inFlight, queues.held]).toEqual([8, 20])
  if (sent === undefined) throw new Error('nothing was sent')
  expect(queues.finished(sent, FAILED).map((row) => row.number)).toEqual(
    Array.from({ length: 12 }, (_, index) => 8 + index),
  )
  expect([queues.inFlight, queues.held]).toEqual([7, 7])
})

test('queues take turns for slots, however much each has waiting', () => {
  const queues = new EndpointQueues<Row>(4)
  for (const row of rowsOf('we_a', 50)) queues.add(row, false)
  for (const row of rowsOf('we_b', 2)) queues.add(row, false)
  expect(sendAll(queues).map((row) => row.endpointId)).toEqual(['we_a', 'we_b', 'we_a', 'we_b'])
  expect(queues.takeWaiting()).toHaveLength(48)
  expect(queues.held).toBe(4)
})

test('queues that were in trouble before this worker knew them count as failing from the start', () => {
  const queues = new EndpointQueues<Row>(8)
  const unhealthy = Array.from({ length: 6 }, (_, index) => ({ endpointId: `we_${index}`, number: 0 }))
  expect(unhealthy.map((row) => queues.add(row, true))).toEqual([true, true, true, true, false, false])
  expect([sendAll(queues).length, queues.unhealthyRoom]).toEqual([4, 0])
  for (const row of rowsOf('we_healthy', 2)) expect(queues.add(row, false)).toBe(true)
  expect(sendAll(queues).map((row) => row.endpointId)).toEqual(['we_healthy', 'we_healthy'])
  const [first] = unhealthy
  if (first === undefined) throw new Error('no row')
  queues.finished(first, QUICK)
  expect(queues.unhealthyRoom).toBe(1)
})

test('queues that take seconds for each answer hold at most half of the slots together, each the same part', () => {
  const queues = new EndpointQueues<Row>(64)
  const names = Array.from({ length: 10 }, (_, index) => `we_slow_${index}`)
  const given = new Map(names.map((name) => [name, 0]))
  for (const name of names) for (const row of rowsOf(name, 2)) queues.add(row, false)
  let inFlight = sendAll(queues)
  for (let round = 0; round < 5; round++) {
    for (const row of inFlight) queues.finished(row, SLOW)
    // As a claim does: what each queue has room for, queues in the order of their ids.
    const room = queues.room()
    for (const name of names) {
      for (const row of rowsOf(name, room.get(name) ?? WINDOW_START)) {
        if (queues.add(row, false)) given.set(name, (given.get(name) ?? 0) + 1)
      }
    }
    inFlight = sendAll(queues)
    expect(inFlight.length).toBeLessThanOrEqual(32)
  }
  expect(inFlight.length).toBeGreaterThan(20)
  expect([...given.values()]).toEqual(names.map(() => 5 * 3))
  for (const row of rowsOf('we_quick', 2)) queues.add(row, false)
  expect(sendAll(queues).map((row) => row.endpointId)).toEqual(['we_quick', 'we_quick'])
})

test('a queue that turns slow gives back what it was given while it was quick', () => {
  const queues = new EndpointQueues<Row>(100)
  for (const row of rowsOf('we_a', 20)) queues.add(row, false)
  const [first, second] = sendAll(queues)
  if (first === undefined || second === undefined) throw new Error('nothing was sent')
  expect(queues.finished(first, QUICK)).toEqual([])
  sendAll(queues)
  expect(queues.finished(second, { ok: true, durationMs: 9_000 })).toHaveLength(20 - 2 - 3)
})

test('a throttled queue gets one row, one more for each minute it is late, and eight at a time at most', () => {
  const queues = new EndpointQueues<Row>(64)
  const turn = (lateMinutes: number) => [{ endpointId: 'we_a', lateMs: lateMinutes * 60_000 }]
  for (const [lateMinutes, rows] of [
    [0, 1],
    [0.9, 1],
    [3, 4],
    [7, 8],
    [600, 8],
  ] as const) {
    expect(queues.throttledRoom(64).rowsOf(turn(lateMinutes)).get('we_a')).toBe(rows)
  }
  for (const row of rowsOf('we_a', 8)) queues.add(row, true)
  const sent = sendAll(queues)
  expect(sent).toHaveLength(8)
  expect([...queues.throttledRoom(64).held]).toEqual([['we_a', 8]])
  expect(queues.throttledRoom(64).rowsOf(turn(7)).size).toBe(0)
  expect(queues.throttledRoom(64).rowsOf(turn(8)).get('we_a')).toBe(1)
  for (const row of sent) queues.finished(row, FAILED)
  const many = Array.from({ length: 40 }, (_, index) => ({ endpointId: `we_${index}`, lateMs: 3_600_000 }))
  const given = queues.throttledRoom(64).rowsOf(many)
  expect([given.size, new Set(given.values())]).toEqual([32, new Set([1])])
  expect(queues.throttledRoom(5).rowsOf(many).size).toBe(5)
})

test('one worker tries 100,000 deliveries to an endpoint that hangs within the six hours that turns have', () => {
  let [nowMs, tried, atOnce] = [0, 0, 0]
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs)
  const queues = new EndpointQueues<Row>(CONCURRENCY_DEFAULT)
  const ends: { row: Row; atMs: number }[] = []
  for (; nowMs < BACKOFF_MAX_MS - WAIT_MS_MAX; nowMs += THROTTLED_PACE_MS) {
    for (let next = ends[0]; next !== undefined && next.atMs <= nowMs; next = ends[0]) {
      queues.finished(next.row, TIMED_OUT)
      ends.shift()
    }
    const given = queues.throttledRoom(CONCURRENCY_DEFAULT).rowsOf([{ endpointId: 'we_a', lateMs: nowMs }])
    for (const row of rowsOf('we_a', given.get('we_a') ?? 0)) queues.add(row, true)
    for (const row of sendAll(queues)) ends.push({ row, atMs: nowMs + TIMED_OUT.durationMs })
    tried += given.get('we_a') ?? 0
    atOnce = Math.max(atOnce, queues.held)
  }
  expect(atOnce).toBe(THROTTLED_SLOTS_MAX)
  expect(tried).toBeGreaterThan(100_000)
})
