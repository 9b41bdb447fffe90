import { forgetCardBuyers } from '../db/checkout/card-purchases.ts'
import {
  deleteDeliveredEvents,
  deleteEndedSecrets,
  deleteEndedSignIns,
  deleteIdleQueues,
  deleteOldIdempotencyKeys,
  keepAttemptPartitions,
  pullForward,
  RETENTION_ROWS_MAX,
  SWEEP_ROWS_MAX,
  sweepIneligible,
} from '../db/delivery/delivery-upkeep.ts'
import { deleteOldRequests } from '../db/requests/request-log.ts'
import type { Pool } from '../postgres/pool.ts'
import { withQueueTransaction, withSystemTransaction } from '../postgres/transaction.ts'
import type { Pause } from '../runtime/activity.ts'
import type { Log } from '../runtime/log.ts'
import { repeat } from '../runtime/repeat.ts'
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
  return inRounds(SWEEP_ROWS_MAX, () => withQueueTransaction(pool, sweepIneligible))
}

/** Makes due what waits for endpoints that came back, and forgets those that have nothing left to remember. */
export async function sendToRecovered(pool: Pool): Promise<void> {
  await inRounds(1, () => withQueueTransaction(pool, pullForward))
  await withQueueTransaction(pool, deleteIdleQueues)
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
  await inRounds(RETENTION_ROWS_MAX, () => deleteEndedSignIns(pool))
  return { events, idempotencyKeys }
}

async function sweep(pool: Pool): Promise<void> {
  await sweepDeliveries(pool)
  await sendToRecovered(pool)
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
export async function startUpkeep({
  pool,
  log,
  pause,
}: {
  pool: Pool
  log: Log
  pause: Pause
}): Promise<{ stop(): Promise<void> }> {
  const faults = createFaultLog(log, 'upkeep of deliveries')
  const reported = async (work: Promise<unknown>): Promise<void> => {
    await work
    faults.recovered()
  }
  const onError = faults.failed
  await reported(keepAttemptPartitions(pool, PARTITION_DAYS_AHEAD, ATTEMPT_DAYS)).catch(onError)
  const upkeep = [
    repeat(() => reported(sweep(pool)), { everyMs: SWEEP_EVERY_MS, firstMs: SWEEP_EVERY_MS, onError, pause }),
    repeat(() => reported(applyRetention(pool)), {
      everyMs: RETENTION_EVERY_MS,
      firstMs: FIRST_RETENTION_AFTER_MS,
      onError,
    }),
  ]
  return { stop: async () => void (await Promise.all(upkeep.map((each) => each.stop()))) }
}
