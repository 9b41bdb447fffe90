import { THROTTLED_ROWS_PER_TURN, throttledSlots } from '../core/endpoint/throttle.ts'
import type { ThrottledRoom } from './claim.ts'
import { CONNECTIONS_PER_LANE } from './connection-pool.ts'

/** Requests at once for a lane that nothing is known of yet. */
export const WINDOW_START = 2
const WINDOW_MAX = CONNECTIONS_PER_LANE
/** A lane that answers takes as many rows ahead as it sends in this time, so that no slot waits for a claim. */
const AHEAD_MS = 50
const AHEAD_ROWS_MAX = 64
const ANSWER_MS_MIN = 1
/** A lane whose mean answer takes this long is slow: many of its kind would take every slot. */
const SLOW_ANSWER_MS = 1_000
/** A lane that had a row to send so recently has more, as far as anybody knows. */
const BUSY_MS = 15_000
/** How much the latest answer counts in a lane's mean answer time. */
const ANSWER_WEIGHT = 0.2
/** A lane unused for this long is forgotten. */
const FORGET_AFTER_MS = 5 * 60_000

type Lane<Row> = {
  window: number
  inFlight: number
  readonly waiting: Row[]
  /** It fails or is slow, and shares its part of the slots with all that do or are. */
  confined: boolean
  /** Mean time to an answer; null before the first. */
  answerMs: number | null
  usedAt: number
  /** Whether it stands in line for the next free slot. */
  inLine: boolean
}

/**
 * What this process has claimed, by endpoint. Each endpoint may have some requests in flight: two at first, doubled
 * by a success up to eight, one after a failure. One that answers quickly has rows waiting here for its next free
 * slot; one that fails gives them back. Endpoints whose last request failed, and those that take seconds for each
 * answer, share at most half of all slots, in equal parts: receivers that hang or dawdle, however many, leave room
 * for those that answer.
 */
export class Lanes<Row extends { readonly endpointId: string }> {
  readonly #slots: number
  readonly #confinedMax: number
  readonly #lanes = new Map<string, Lane<Row>>()
  /** Lanes with both a row and a slot of their own, in the order of their turns. */
  readonly #line: Lane<Row>[] = []
  #inFlight = 0
  #waiting = 0
  /** Rows of confined lanes, in flight or waiting. */
  #confinedHeld = 0

  /** `slots`: requests in flight at once, of all lanes together. */
  constructor(slots: number) {
    this.#slots = slots
    this.#confinedMax = Math.max(1, Math.floor(slots / 2))
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** In flight or waiting. */
  get held(): number {
    return this.#inFlight + this.#waiting
  }

  /** Rows that endpoints which fail or are slow may be given besides. */
  get confinedRoom(): number {
    return Math.max(0, this.#confinedMax - this.#confinedHeld)
  }

  /** Rows that each known lane may be given now; lanes not named may be given `WINDOW_START`. */
  room(): Map<string, number> {
    const room = new Map<string, number>()
    const forgetBefore = performance.now() - FORGET_AFTER_MS
    const share = this.#confinedShare()
    for (const [endpointId, lane] of this.#lanes) {
      if (heldBy(lane) === 0 && lane.usedAt < forgetBefore) {
        this.#lanes.delete(endpointId)
        continue
      }
      const rows = this.#roomOf(lane, share)
      if (rows !== WINDOW_START) room.set(endpointId, rows)
    }
    return room
  }

  /** What throttled lanes may be given now, `rowsMax` at most: each as its lateness asks for, and its share allows. */
  throttledRoom(rowsMax: number): ThrottledRoom {
    const held = new Map([...this.#lanes].map(([endpointId, lane]) => [endpointId, heldBy(lane)]))
    const room = Math.min(rowsMax, this.confinedRoom)
    return { held, rowsMax: room, rowsOf: (turns) => this.#rowsOfThrottled(turns, room) }
  }

  #rowsOfThrottled(
    turns: readonly { endpointId: string; lateMs: number }[],
    rowsMax: number,
  ): Map<string, number> {
    const given = new Map<string, number>()
    let left = rowsMax
    for (const { endpointId, lateMs } of turns) {
      const lane = this.#laneOf({ endpointId }, true)
      lane.usedAt = performance.now()
      lane.window = throttledSlots(lateMs)
    }
    const share = this.#confinedShare()
    for (const { endpointId } of turns) {
      const lane = this.#laneOf({ endpointId }, true)
      const rows = Math.min(left, THROTTLED_ROWS_PER_TURN, Math.min(lane.window, share) - heldBy(lane))
      if (rows <= 0) continue
      given.set(endpointId, rows)
      left -= rows
    }
    return given
  }

  /**
   * Takes a row; false where its lane fails or is slow and its like hold all that they may. A lane that is new here
   * begins as failing where it is `troubled`: a worker that starts among receivers that hang knows them by that.
   */
  add(row: Row, troubled: boolean): boolean {
    const lane = this.#laneOf(row, troubled)
    lane.usedAt = performance.now()
    if (lane.confined && this.#confinedHeld >= this.#confinedMax) return false
    lane.waiting.push(row)
    this.#waiting += 1
    if (lane.confined) this.#confinedHeld += 1
    this.#lineUp(lane)
    return true
  }

  /** The next row to send, whose slot it takes; null while no lane has both a row and a slot. Lanes take turns. */
  next(): Row | null {
    while (this.#inFlight < this.#slots) {
      const lane = this.#line.shift()
      if (lane === undefined) return null
      lane.inLine = false
      const row = lane.waiting.shift()
      if (row === undefined) continue
      this.#waiting -= 1
      this.#inFlight += 1
      lane.inFlight += 1
      lane.usedAt = performance.now()
      this.#lineUp(lane)
      return row
    }
    return null
  }

  /** The request of a row ended. Returns rows of its lane that shall not be sent now. */
  finished(row: Row, ended: { ok: boolean; durationMs: number }): Row[] {
    const lane = this.#laneOf(row, false)
    // All that the lane holds changes sides with it.
    const wasConfined = lane.confined
    if (wasConfined) this.#confinedHeld -= heldBy(lane)
    this.#inFlight -= 1
    lane.inFlight -= 1
    lane.window = ended.ok ? Math.min(WINDOW_MAX, lane.window * 2) : 1
    lane.answerMs = meanAnswer(lane.answerMs, ended.durationMs)
    lane.confined = !ended.ok || lane.answerMs >= SLOW_ANSWER_MS
    if (lane.confined) this.#confinedHeld += heldBy(lane)
    lane.usedAt = performance.now()
    // What it was given ahead while it was quick would take the slots of those that still are.
    if (!ended.ok || (lane.confined && !wasConfined)) return this.#takeAll(lane)
    this.#lineUp(lane)
    return []
  }

  /** Takes away all that waits. */
  takeWaiting(): Row[] {
    return [...this.#lanes.values()].flatMap((lane) => this.#takeAll(lane))
  }

  #laneOf(row: { readonly endpointId: string }, troubled: boolean): Lane<Row> {
    const known = this.#lanes.get(row.endpointId)
    if (known !== undefined) return known
    const lane: Lane<Row> = {
      window: troubled ? 1 : WINDOW_START,
      inFlight: 0,
      waiting: [],
      confined: troubled,
      answerMs: null,
      usedAt: performance.now(),
      inLine: false,
    }
    this.#lanes.set(row.endpointId, lane)
    return lane
  }

  #lineUp(lane: Lane<Row>): void {
    if (lane.inLine || lane.waiting.length === 0 || lane.inFlight >= lane.window) return
    lane.inLine = true
    this.#line.push(lane)
  }

  /** What each confined lane may hold, so that the first ones do not keep the others out. */
  #confinedShare(): number {
    let busy = 0
    const busySince = performance.now() - BUSY_MS
    for (const lane of this.#lanes.values()) if (lane.confined && lane.usedAt > busySince) busy += 1
    return Math.max(1, Math.floor(this.#confinedMax / Math.max(1, busy)))
  }

  #roomOf(lane: Lane<Row>, share: number): number {
    if (!lane.confined) return Math.max(0, lane.window + aheadOf(lane) - heldBy(lane))
    if (this.#confinedHeld >= this.#confinedMax) return 0
    return Math.max(0, Math.min(lane.window, share) - heldBy(lane))
  }

  #takeAll(lane: Lane<Row>): Row[] {
    this.#waiting -= lane.waiting.length
    if (lane.confined) this.#confinedHeld -= lane.waiting.length
    return lane.waiting.splice(0)
  }
}

const heldBy = (lane: { readonly inFlight: number; readonly waiting: readonly unknown[] }): number =>
  lane.inFlight + lane.waiting.length

function aheadOf(lane: { readonly window: number; readonly answerMs: number | null }): number {
  if (lane.answerMs === null) return 0
  return Math.min(AHEAD_ROWS_MAX, Math.floor((lane.window * AHEAD_MS) / lane.answerMs))
}

function meanAnswer(mean: number | null, durationMs: number): number {
  const latest = Math.max(ANSWER_MS_MIN, durationMs)
  return mean === null ? latest : mean + (latest - mean) * ANSWER_WEIGHT
}
