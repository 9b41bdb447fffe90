import { ROWS_PER_LANE_MAX } from '../db/queries/deliveries.ts'
import { CONNECTIONS_PER_LANE } from './http-client.ts'

/** Requests at once for a lane that nothing is known of yet. */
export const WINDOW_START = 2
const WINDOW_MAX = CONNECTIONS_PER_LANE
/** A lane unused for this long is forgotten. */
const FORGET_AFTER_MS = 5 * 60_000

type LaneState = { window: number; inFlight: number; failing: boolean; usedAt: number }

/**
 * How many requests each endpoint may have in flight from this process: two at first, doubled by a success up to
 * eight, one after a failure. Endpoints whose last request failed share at most half of all slots, so that
 * receivers that hang leave room for those that answer.
 */
export type LaneWindows = {
  /** Rows that each known lane may take now; lanes not named may take `WINDOW_START`. */
  room(): Map<string, number>
  started(endpointId: string): void
  finished(endpointId: string, ok: boolean): void
}

export function createLaneWindows(slots: number): LaneWindows {
  const lanes = new Map<string, LaneState>()
  const failingMax = Math.max(1, Math.floor(slots / 2))
  let failingInFlight = 0

  const stateOf = (endpointId: string): LaneState => {
    const known = lanes.get(endpointId)
    if (known !== undefined) return known
    const state = { window: WINDOW_START, inFlight: 0, failing: false, usedAt: 0 }
    lanes.set(endpointId, state)
    return state
  }

  return {
    room: () => {
      const room = new Map<string, number>()
      const forgetBefore = performance.now() - FORGET_AFTER_MS
      for (const [endpointId, state] of lanes) {
        if (state.inFlight === 0 && state.usedAt < forgetBefore) {
          lanes.delete(endpointId)
          continue
        }
        const crowded = state.failing && failingInFlight >= failingMax
        const rows = crowded ? 0 : Math.min(ROWS_PER_LANE_MAX, Math.max(0, state.window - state.inFlight))
        if (rows !== WINDOW_START) room.set(endpointId, rows)
      }
      return room
    },
    started: (endpointId) => {
      const state = stateOf(endpointId)
      state.inFlight += 1
      if (state.failing) failingInFlight += 1
      state.usedAt = performance.now()
    },
    finished: (endpointId, ok) => {
      const state = stateOf(endpointId)
      // All that the lane has in flight changes sides with it.
      if (state.failing) failingInFlight -= state.inFlight
      state.inFlight -= 1
      state.failing = !ok
      state.window = ok ? Math.min(WINDOW_MAX, state.window * 2) : 1
      if (state.failing) failingInFlight += state.inFlight
      state.usedAt = performance.now()
    },
  }
}
