import { CONNECTIONS_PER_LANE } from './http-client.ts'

/** Requests at once for a lane that nothing is known of yet. */
export const WINDOW_START = 2
const WINDOW_MAX = CONNECTIONS_PER_LANE
/** A lane that answers takes as many rows ahead as it sends in this time, so that no slot waits for a claim. */
const AHEAD_MS = 50
const AHEAD_ROWS_MAX = 64
const ANSWER_MS_MIN = 1
/** How much the latest answer counts in a lane's mean answer time. */
const ANSWER_WEIGHT = 0.2
/** A lane unused for this long is forgotten. */
const FORGET_AFTER_MS = 5 * 60_000

type Lane<Row> = {
  window: number
  inFlight: number
  readonly waiting: Row[]
  failing: boolean
  /** Mean time to an answer; null before the first. */
  answerMs: number | null
  usedAt: number
  /** Whether it stands in line for the next free slot. */
  inLine: boolean
}

/**
 * What this process has claimed, by endpoint. Each endpoint may have some requests in flight: two at first, doubled
 * by a success up to eight, one after a failure. One that answers quickly has rows waiting here for its next free
 * slot; one that fails gives them back. Endpoints whose last request failed share at most half of all slots, so
 * that receivers that hang leave room for those that answer.
 */
export type Lanes<Row> = {
  /** Rows that each known lane may be given now; lanes not named may be given `WINDOW_START`. */
  room(): Map<string, number>
  /**
   * Takes a row; false where its lane fails and the others that fail hold all that they may. A lane that is new here
   * begins as failing where it is `troubled`: a worker that starts among receivers that hang knows them by that.
   */
  add(row: Row, troubled: boolean): boolean
  /** Rows that endpoints whose last request failed may be given besides. */
  failingRoom(): number
  /** The next row to send, whose slot it takes; null while no lane has both a row and a slot. Lanes take turns. */
  next(): Row | null
  /** The request of a row ended. Returns rows of its lane that shall not be sent now. */
  finished(row: Row, ended: { ok: boolean; durationMs: number }): Row[]
  inFlight(): number
  /** In flight or waiting. */
  held(): number
  /** Takes away all that waits. */
  takeWaiting(): Row[]
}

export function createLanes<Row extends { readonly endpointId: string }>(slots: number): Lanes<Row> {
  const lanes = new Map<string, Lane<Row>>()
  const failingMax = Math.max(1, Math.floor(slots / 2))
  const line: Lane<Row>[] = []
  /** Rows of lanes that fail, in flight or waiting. */
  let failingHeld = 0
  let inFlight = 0
  let waiting = 0

  const laneOf = (row: Row, troubled: boolean): Lane<Row> => {
    const known = lanes.get(row.endpointId)
    if (known !== undefined) return known
    const lane: Lane<Row> = {
      window: troubled ? 1 : WINDOW_START,
      inFlight: 0,
      waiting: [],
      failing: troubled,
      answerMs: null,
      usedAt: performance.now(),
      inLine: false,
    }
    lanes.set(row.endpointId, lane)
    return lane
  }

  const lineUp = (lane: Lane<Row>): void => {
    if (lane.inLine || lane.waiting.length === 0 || lane.inFlight >= lane.window) return
    lane.inLine = true
    line.push(lane)
  }

  const roomOf = (lane: Lane<Row>): number => {
    if (lane.failing && failingHeld >= failingMax) return 0
    return Math.max(0, lane.window + aheadOf(lane) - lane.inFlight - lane.waiting.length)
  }

  const takeAll = (lane: Lane<Row>): Row[] => {
    waiting -= lane.waiting.length
    if (lane.failing) failingHeld -= lane.waiting.length
    return lane.waiting.splice(0)
  }

  return {
    room: () => {
      const room = new Map<string, number>()
      const forgetBefore = performance.now() - FORGET_AFTER_MS
      for (const [endpointId, lane] of lanes) {
        if (lane.inFlight + lane.waiting.length === 0 && lane.usedAt < forgetBefore) {
          lanes.delete(endpointId)
          continue
        }
        const rows = roomOf(lane)
        if (rows !== WINDOW_START) room.set(endpointId, rows)
      }
      return room
    },
    add: (row, troubled) => {
      const lane = laneOf(row, troubled)
      if (lane.failing && failingHeld >= failingMax) return false
      lane.waiting.push(row)
      waiting += 1
      if (lane.failing) failingHeld += 1
      lineUp(lane)
      return true
    },
    failingRoom: () => Math.max(0, failingMax - failingHeld),
    next: () => {
      while (inFlight < slots) {
        const lane = line.shift()
        if (lane === undefined) return null
        lane.inLine = false
        const row = lane.waiting.shift()
        if (row === undefined) continue
        waiting -= 1
        inFlight += 1
        lane.inFlight += 1
        lane.usedAt = performance.now()
        lineUp(lane)
        return row
      }
      return null
    },
    finished: (row, ended) => {
      const lane = laneOf(row, false)
      // All that the lane holds changes sides with it.
      if (lane.failing) failingHeld -= lane.inFlight + lane.waiting.length
      inFlight -= 1
      lane.inFlight -= 1
      lane.failing = !ended.ok
      lane.window = ended.ok ? Math.min(WINDOW_MAX, lane.window * 2) : 1
      lane.answerMs = meanAnswer(lane.answerMs, ended.durationMs)
      if (lane.failing) failingHeld += lane.inFlight + lane.waiting.length
      lane.usedAt = performance.now()
      if (lane.failing) return takeAll(lane)
      lineUp(lane)
      return []
    },
    inFlight: () => inFlight,
    held: () => inFlight + waiting,
    takeWaiting: () => [...lanes.values()].flatMap(takeAll),
  }
}

function aheadOf(lane: { window: number; failing: boolean; answerMs: number | null }): number {
  if (lane.failing || lane.answerMs === null) return 0
  return Math.min(AHEAD_ROWS_MAX, Math.floor((lane.window * AHEAD_MS) / lane.answerMs))
}

function meanAnswer(mean: number | null, durationMs: number): number {
  const latest = Math.max(ANSWER_MS_MIN, durationMs)
  return mean === null ? latest : mean + (latest - mean) * ANSWER_WEIGHT
}
