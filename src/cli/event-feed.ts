import { formatId, uuidv7 } from '../core/ids.ts'
import { type FeedEvent, listEventIdsAfter, loadEvents } from '../db/delivery/event-feed.ts'
import type { Pool } from '../postgres/pool.ts'
import { type Tenant, type Tx, withTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'

/**
 * An id says when its event was made, not when its transaction committed: one with an earlier id can appear after
 * a later one. So the feed reads this much of the past again, and remembers what it has given. No transaction
 * lasts as long (statements end after 30 seconds), and hosts' clocks are not as far apart.
 */
const OVERLAP_MS = 120_000
const PAGE_IDS = 1_000
/** 100,000 events within the overlap: nobody reads along any more. */
const PAGES_MAX = 100
/** Bodies of one read; the rest comes with the next. */
const EVENTS_MAX = 100

const NO_RANDOM_BITS = new Uint8Array(10)

/** A merchant's events of one mode, as they are committed, from the moment it was opened. */
export type EventFeed = {
  /** Events that were not given before, in the order in which they were made; empty where there are none. */
  read(): Promise<FeedEvent[]>
}

export async function openEventFeed(deps: { pool: Pool; clock: Clock }, tenant: Tenant): Promise<EventFeed> {
  const given = new Set<string>()
  let floor = floorAt(deps.clock)

  const listNew = async (tx: Tx): Promise<string[]> => {
    const ids: string[] = []
    let after = floor
    for (let page = 0; page < PAGES_MAX; page++) {
      const found = await listEventIdsAfter(tx, tenant, after, PAGE_IDS)
      ids.push(...found.filter((id) => !given.has(id)))
      const last = found.at(-1)
      if (found.length < PAGE_IDS || last === undefined) return ids
      after = last
    }
    throw new Error(
      `more than ${PAGES_MAX * PAGE_IDS} events in ${OVERLAP_MS / 1_000} seconds cannot be followed`,
    )
  }

  const moveFloor = (to: string): void => {
    floor = to
    for (const id of given) if (id <= floor) given.delete(id)
  }

  // What is there already is not news.
  for (const id of await withTransaction(deps.pool, tenant, listNew)) given.add(id)
  return {
    read: async () => {
      const nextFloor = floorAt(deps.clock)
      const { events, isAll } = await withTransaction(deps.pool, tenant, async (tx) => {
        const ids = await listNew(tx)
        const taken = ids.slice(0, EVENTS_MAX)
        const loaded = taken.length === 0 ? [] : await loadEvents(tx, tenant, taken)
        return { events: loaded, isAll: taken.length === ids.length }
      })
      for (const { id } of events) given.add(id)
      // After an outage there may be more than the overlap to catch up on: nothing unread is left behind.
      if (isAll) moveFloor(nextFloor)
      return events.sort((one, other) => one.createdAtMs - other.createdAtMs || one.sequence - other.sequence)
    },
  }
}

/** The lowest id of the moment where the overlap begins. */
function floorAt(clock: Clock): string {
  return formatId('event', uuidv7(clock().getTime() - OVERLAP_MS, NO_RANDOM_BITS))
}
