import { insertRequests, type LoggedRequest } from '../../db/requests/request-log.ts'
import { isDatabaseAway } from '../../postgres/database-away.ts'
import type { Pool } from '../../postgres/pool.ts'
import type { Log } from '../../runtime/log.ts'

/** Collects requests and writes them in batches: a request never waits for its own record. */
export type RequestRecorder = {
  record(request: LoggedRequest): void
  /** Writes what is gathered. */
  stop(): Promise<void>
}

const WRITE_EVERY_MS = 500
const BATCH_MAX = 500
/** Beyond this, records are dropped and counted: the database is away, and memory is for requests. */
const GATHERED_MAX = 5_000

export function createRequestRecorder(deps: { pool: Pool; log: Log }): RequestRecorder {
  const { pool, log } = deps
  let gathered: LoggedRequest[] = []
  let dropped = 0
  let timer: NodeJS.Timeout | null = null
  let writing: Promise<void> = Promise.resolve()
  const insert = async (batch: readonly LoggedRequest[]): Promise<void> => {
    try {
      await insertRequests(pool, batch)
    } catch (error) {
      // What PostgreSQL refuses of one request must not cost the others of the batch their rows.
      if (batch.length > 1 && error instanceof Error && !isDatabaseAway(error)) {
        for (const request of batch) await insert([request])
        return
      }
      dropped += batch.length
      log.warn({ err: error, dropped }, 'requests could not be written to the request log')
    }
  }
  const write = async (): Promise<void> => {
    timer = null
    const batch = gathered.slice(0, BATCH_MAX)
    gathered = gathered.slice(BATCH_MAX)
    if (batch.length === 0) return
    await insert(batch)
    if (gathered.length > 0) plan()
  }
  const plan = (): void => {
    timer ??= setTimeout(() => {
      writing = writing.then(write)
    }, WRITE_EVERY_MS).unref()
  }
  return {
    record: (request) => {
      if (gathered.length >= GATHERED_MAX) dropped += 1
      else gathered.push(request)
      plan()
    },
    stop: async () => {
      if (timer !== null) clearTimeout(timer)
      await writing
      for (let rounds = 0; gathered.length > 0 && rounds < GATHERED_MAX / BATCH_MAX; rounds++) await write()
    },
  }
}
