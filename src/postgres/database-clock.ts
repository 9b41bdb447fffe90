import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { Queryable } from './pool.ts'

const READ_EVERY_MS = 60_000
/** An answer that took longer says too little of when it was given, ms. */
const ANSWER_MS_MAX = 1_000
/** Two readings differ by as much without any clock being wrong, ms. */
const TOLERANCE_MS = 250
/** From here on the host's clock is worth a warning, ms. */
const SKEW_MS_MAX = 30_000

type Reading = {
  readonly epochMs: number
  /** Of this process's monotonic clock. */
  readonly atMs: number
  readonly tookMs: number
}

/**
 * The database's time, for every role that judges deadlines: those on a host whose clock is wrong expire nothing early and
 * take no payment for late. Between two readings a monotonic clock counts, which no change of the host's time moves.
 */
export async function openDatabaseClock(
  db: Queryable,
  log: Log,
): Promise<{ readonly clock: Clock; stop(): void }> {
  let reading = await readTime(db)
  let wasSkewed = false
  const nowMs = () => reading.epochMs + performance.now() - reading.atMs
  const look = () => {
    const skewMs = Math.round(Date.now() - nowMs())
    const isSkewed = Math.abs(skewMs) > SKEW_MS_MAX
    if (isSkewed && !wasSkewed)
      log.warn(
        { skewMs },
        "this host's clock is not the database's, whose time counts: run a time service on both",
      )
    wasSkewed = isSkewed
  }
  const readAgain = async () => {
    const next = await readTime(db)
    const isClear = next.tookMs <= ANSWER_MS_MAX
    if (isClear && Math.abs(next.epochMs + performance.now() - next.atMs - nowMs()) > TOLERANCE_MS)
      reading = next
    look()
  }
  look()
  const timer = setInterval(() => {
    readAgain().catch((error) => log.debug({ err: error }, "the database's time could not be read"))
  }, READ_EVERY_MS)
  return { clock: () => new Date(nowMs()), stop: () => clearInterval(timer) }
}

async function readTime(db: Queryable): Promise<Reading> {
  const sentAtMs = performance.now()
  const { rows } = await db.query<{ now: Date }>('select clock_timestamp() as now')
  const receivedAtMs = performance.now()
  const [row] = rows
  if (row === undefined) throw new Error('the database gave no time')
  return {
    epochMs: row.now.getTime(),
    atMs: (sentAtMs + receivedAtMs) / 2,
    tookMs: receivedAtMs - sentAtMs,
  }
}
