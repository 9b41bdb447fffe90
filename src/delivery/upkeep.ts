import type { Pool } from '../db/pool.ts'
import { forgetCardBuyers } from '../db/queries/card-purchases.ts'
import {
  deleteDeliveredEvents,
  deleteEndedSecrets,
  deleteOldIdempotencyKeys,
  keepAttemptPartitions,
  RETENTION_ROWS_MAX,
  SWEEP_ROWS_MAX,
  sweepExpired,
  sweepIneligible,
} from '../db/queries/delivery-upkeep.ts'
import { deleteOldRequests } from '../db/queries/request-log.ts'
import { withSystemTransaction } from '../db/transaction.ts'
import type { Log } from '../log.ts'
import { createFaultLog } from './fault-log.ts'

/** Spec §8. */
const ATTEMPT_DAYS = 30
/** Spec §8. */
const DELIVERED_EVENT_DAYS = 90
const IDEMPOTENCY_KEY_HOURS = 72
const REQUEST_DAYS = 30
const CARD_BUYER_DAYS = 30
const PARTITION_DAYS_AHEAD = 7

const SWEEP_EVERY_MS = 1_000
const RETENTION_EVERY_MS = 3_600_000
const FIRST_RETENTION_AFTER_MS = 30_000
/** Rounds of one sweep or retention; the rest waits for the next. */
const ROUNDS_MAX = 50

/**
 * Moves what nobody will send any more to the events that await recovery. Returns how many deliveries that were.
 */
export async function sweepDeliveries(pool: Pool): Promise<number> {
  return (
    (await inRounds(SWEEP_ROWS_MAX, () => withSystemTransaction(pool, sweepIneligible))) +
    (await inRounds(SWEEP_ROWS_MAX, () => withSystemTransaction(pool, sweepExpired)))
  )
}

/** Forgets what is past its retention and makes room for the days ahead. */
export async function applyRetention(pool: Pool): Promise<{ events: number; idempotencyKeys: number }> {
  await keepAttemptPartitions(pool, PARTITION_DAYS_AHEAD, ATTEMPT_DAYS)
  await deleteEndedSecrets(pool)
  const events = await inRounds(RETENTION_ROWS_MAX, () =>
    withSystemTransaction(pool, (tx) => deleteDeliveredEvents(tx, DELIVERED_EVENT_DAYS)),
  )
  const idempotencyKeys = await inRounds(RETENTION_ROWS_MAX, () =>
    deleteOldIdempotencyKeys(pool, IDEMPOTENCY_KEY_HOURS),
  )
  await inRounds(RETENTION_ROWS_MAX, () => deleteOldRequests(pool, REQUEST_DAYS, RETENTION_ROWS_MAX))
  await inRounds(RETENTION_ROWS_MAX, () => forgetCardBuyers(pool, CARD_BUYER_DAYS, RETENTION_ROWS_MAX))
  return { events, idempotencyKeys }
}

async function inRounds(full: number, round: () => Promise<number>): Promise<number> {
  let total = 0
  for (let rounds = 0; rounds < ROUNDS_MAX; rounds++) {
    const done = await round()
    total += done
    if (done < full) break
  }
  return total
}

/** Partitions first, so that attempts can be recorded; then sweeps and retention, for as long as the worker runs. */
export async function startUpkeep(deps: { pool: Pool; log: Log }): Promise<{ stop(): Promise<void> }> {
  const faults = createFaultLog(deps.log, 'upkeep of deliveries')
  let stopped = false
  const running = new Set<Promise<void>>()
  const timers = new Set<NodeJS.Timeout>()

  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
      faults.mended()
    } catch (error) {
      faults.failed(error)
    }
  }
  const repeat = (everyMs: number, firstMs: number, work: () => Promise<unknown>): void => {
    const timer = setTimeout(() => {
      timers.delete(timer)
      const run = attempt(work).then(() => {
        running.delete(run)
        if (!stopped) repeat(everyMs, everyMs, work)
      })
      running.add(run)
    }, firstMs)
    timers.add(timer)
  }

  await attempt(() => keepAttemptPartitions(deps.pool, PARTITION_DAYS_AHEAD, ATTEMPT_DAYS))
  repeat(SWEEP_EVERY_MS, SWEEP_EVERY_MS, () => sweepDeliveries(deps.pool))
  repeat(RETENTION_EVERY_MS, FIRST_RETENTION_AFTER_MS, () => applyRetention(deps.pool))
  return {
    stop: async () => {
      stopped = true
      for (const timer of timers) clearTimeout(timer)
      await Promise.all(running)
    },
  }
}
