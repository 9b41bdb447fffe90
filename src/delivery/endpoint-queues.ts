import { THROTTLED_ROWS_PER_TURN, throttledSlots } from '../core/endpoint/throttle.ts'
import type { ThrottledRoom } from './claim.ts'
import { CONNECTIONS_PER_ENDPOINT } from './connection-pool.ts'

/** Requests at once for a queue that nothing is known of yet. */
export const WINDOW_START = 2
const WINDOW_MAX = CONNECTIONS_PER_ENDPOINT
/** A queue whose endpoint responds takes as many rows ahead as it sends in this time, so that no slot waits for a claim. */
const AHEAD_MS = 50
const AHEAD_ROWS_MAX = 64
const RESPONSE_MS_MIN = 1
/** An endpoint whose mean response takes this long is slow: many of its kind would take every slot. */
const SLOW_RESPONSE_MS = 1_000
/** A queue that had a row to send so recently has more, as far as anybody knows. */
const BUSY_MS = 15_000
/** How much the latest response counts in the mean response time. */
const RESPONSE_WEIGHT = 0.2
/** A queue unused for this long is forgotten. */
const FORGET_AFTER_MS = 5 * 60_000

type EndpointQueue<Row> = {
  window: number
  inFlight: number
  readonly waiting: Row[]
  /** It fails or is slow, and shares its part of the slots with all that do or are. */
  unhealthy: boolean
  /** Mean time to a response; null before the first. */
  responseMs: number | null
  usedAt: number
  /** Whether it stands in line for the next free slot. */
  inLine: boolean
}

/**
 * What this process has claimed, by endpoint. Each endpoint may have some requests in flight: two at first, doubled
 * by a success up to eight, one after a failure. One that answers quickly has rows waiting here for its next free
 * slot; one that fails gives them back. Endpoints whose last request failed, and those that take seconds for each
 * response, share at most half of all slots, in equal parts: receivers that hang or dawdle, however many, leave room
 * for those that answer.
 */
export class EndpointQueues<Row extends { readonly endpointId: string }> {
  readonly #slots: number
  readonly #unhealthyMax: number
  readonly #queues = new Map<string, EndpointQueue<Row>>()
  /** Queues with both a row and a slot of their own, in the order of their turns. */
  readonly #line: EndpointQueue<Row>[] = []
  #inFlight = 0
  #waiting = 0
  /** Rows of unhealthy queues, in flight or waiting. */
  #unhealthyHeld = 0

  /** `slots`: requests in flight at once, of all queues together. */
  constructor(slots: number) {
    this.#slots = slots
    this.#unhealthyMax = Math.max(1, Math.floor(slots / 2))
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** In flight or waiting. */
  get held(): number {
    return this.#inFlight + this.#waiting
  }

  /** Rows that endpoints which fail or are slow may be given besides. */
  get unhealthyRoom(): number {
    return Math.max(0, this.#unhealthyMax - this.#unhealthyHeld)
  }

  /** Rows that each known queue may be given now; queues not named may be given `WINDOW_START`. */
  room(): Map<string, number> {
    const room = new Map<string, number>()
    const forgetBefore = performance.now() - FORGET_AFTER_MS
    const share = this.#unhealthyShare()
    for (const [endpointId, queue] of this.#queues) {
      if (heldBy(queue) === 0 && queue.usedAt < forgetBefore) {
        this.#queues.delete(endpointId)
        continue
      }
      const rows = this.#roomOf(queue, share)
      if (rows !== WINDOW_START) room.set(endpointId, rows)
    }
    return room
  }

  /** What throttled queues may be given now, `rowsMax` at most: each as its lateness asks for, and its share allows. */
  throttledRoom(rowsMax: number): ThrottledRoom {
    const held = new Map([...this.#queues].map(([endpointId, queue]) => [endpointId, heldBy(queue)]))
    const room = Math.min(rowsMax, this.unhealthyRoom)
    return { held, rowsMax: room, rowsOf: (due) => this.#rowsOfThrottled(due, room) }
  }

  #rowsOfThrottled(
    due: readonly { endpointId: string; lateMs: number }[],
    rowsMax: number,
  ): Map<string, number> {
    const given = new Map<string, number>()
    let left = rowsMax
    for (const { endpointId, lateMs } of due) {
      const queue = this.#queueOf({ endpointId }, true)
      queue.usedAt = performance.now()
      queue.window = throttledSlots(lateMs)
    }
    const share = this.#unhealthyShare()
    for (const { endpointId } of due) {
      const queue = this.#queueOf({ endpointId }, true)
      const rows = Math.min(left, THROTTLED_ROWS_PER_TURN, Math.min(queue.window, share) - heldBy(queue))
      if (rows <= 0) continue
      given.set(endpointId, rows)
      left -= rows
    }
    return given
  }

  /**
   * Takes a row; false where its queue fails or is slow and its like hold all that they may. A queue that is new here
   * begins as failing where it is `unhealthy`: a worker that starts among receivers that hang knows them by that.
   */
  add(row: Row, unhealthy: boolean): boolean {
    const queue = this.#queueOf(row, unhealthy)
    queue.usedAt = performance.now()
    if (queue.unhealthy && this.#unhealthyHeld >= this.#unhealthyMax) return false
    queue.waiting.push(row)
    this.#waiting += 1
    if (queue.unhealthy) this.#unhealthyHeld += 1
    this.#lineUp(queue)
    return true
  }

  /** The next row to send, whose slot it takes; null while no queue has both a row and a slot. Queues take turns. */
  next(): Row | null {
    while (this.#inFlight < this.#slots) {
      const queue = this.#line.shift()
      if (queue === undefined) return null
      queue.inLine = false
      const row = queue.waiting.shift()
      if (row === undefined) continue
      this.#waiting -= 1
      this.#inFlight += 1
      queue.inFlight += 1
      queue.usedAt = performance.now()
      this.#lineUp(queue)
      return row
    }
    return null
  }

  /** The request of a row ended. Returns rows of its queue that shall not be sent now. */
  finished(row: Row, ended: { ok: boolean; durationMs: number }): Row[] {
    const queue = this.#queueOf(row, false)
    // All that the queue holds changes sides with it.
    const wasUnhealthy = queue.unhealthy
    if (wasUnhealthy) this.#unhealthyHeld -= heldBy(queue)
    this.#inFlight -= 1
    queue.inFlight -= 1
    queue.window = ended.ok ? Math.min(WINDOW_MAX, queue.window * 2) : 1
    queue.responseMs = meanResponseMs(queue.responseMs, ended.durationMs)
    queue.unhealthy = !ended.ok || queue.responseMs >= SLOW_RESPONSE_MS
    if (queue.unhealthy) this.#unhealthyHeld += heldBy(queue)
    queue.usedAt = performance.now()
    // What it was given ahead while it was quick would take the slots of those that still are.
    if (!ended.ok || (queue.unhealthy && !wasUnhealthy)) return this.#takeAll(queue)
    this.#lineUp(queue)
    return []
  }

  /** Takes away all that waits. */
  takeWaiting(): Row[] {
    return [...this.#queues.values()].flatMap((queue) => this.#takeAll(queue))
  }

  #queueOf(row: { readonly endpointId: string }, unhealthy: boolean): EndpointQueue<Row> {
    const known = this.#queues.get(row.endpointId)
    if (known !== undefined) return known
    const queue: EndpointQueue<Row> = {
      window: unhealthy ? 1 : WINDOW_START,
      inFlight: 0,
      waiting: [],
      unhealthy: unhealthy,
      responseMs: null,
      usedAt: performance.now(),
      inLine: false,
    }
    this.#queues.set(row.endpointId, queue)
    return queue
  }

  #lineUp(queue: EndpointQueue<Row>): void {
    if (queue.inLine || queue.waiting.length === 0 || queue.inFlight >= queue.window) return
    queue.inLine = true
    this.#line.push(queue)
  }

  /** What each unhealthy queue may hold, so that the first ones do not keep the others out. */
  #unhealthyShare(): number {
    let busy = 0
    const busySince = performance.now() - BUSY_MS
    for (const queue of this.#queues.values()) if (queue.unhealthy && queue.usedAt > busySince) busy += 1
    return Math.max(1, Math.floor(this.#unhealthyMax / Math.max(1, busy)))
  }

  #roomOf(queue: EndpointQueue<Row>, share: number): number {
    if (!queue.unhealthy) return Math.max(0, queue.window + aheadOf(queue) - heldBy(queue))
    if (this.#unhealthyHeld >= this.#unhealthyMax) return 0
    return Math.max(0, Math.min(queue.window, share) - heldBy(queue))
  }

  #takeAll(queue: EndpointQueue<Row>): Row[] {
    this.#waiting -= queue.waiting.length
    if (queue.unhealthy) this.#unhealthyHeld -= queue.waiting.length
    return queue.waiting.splice(0)
  }
}

const heldBy = (queue: { readonly inFlight: number; readonly waiting: readonly unknown[] }): number =>
  queue.inFlight + queue.waiting.length

function aheadOf(queue: { readonly window: number; readonly responseMs: number | null }): number {
  if (queue.responseMs === null) return 0
  return Math.min(AHEAD_ROWS_MAX, Math.floor((queue.window * AHEAD_MS) / queue.responseMs))
}

function meanResponseMs(mean: number | null, durationMs: number): number {
  const latest = Math.max(RESPONSE_MS_MIN, durationMs)
  return mean === null ? latest : mean + (latest - mean) * RESPONSE_WEIGHT
}
