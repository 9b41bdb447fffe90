import { setTimeout as pause } from 'node:timers/promises'
import type { Tenant } from '../core/tenant.ts'
import { isDatabaseAway } from './database-away.ts'
import type { Pool } from './pool.ts'
import { type Tx, withTransaction } from './transaction.ts'

/** How long a read waits for the standby to have replayed what the primary has; then the primary answers. */
const WAIT_MS_MAX = 100
const LOOK_EVERY_MS = 5
/** A standby that lagged or failed is left alone for this long: reads do not all wait for it in vain. */
const REST_MS = 1_000
/** SQLSTATE query_canceled: the statement's own limit of time, which the primary would only meet again. */
const TOOK_TOO_LONG = '57014'

/** A standby that answers reads, and how many it did answer. */
export type Standby = {
  readonly pool: Pool
  /** Whether it has all that the primary has acknowledged up to now. */
  hasAll(primary: Pool): Promise<boolean>
  /** Leaves it alone for a while. */
  rest(): void
  readonly reads: { standby: number; primary: number }
}

export function createStandby(pool: Pool): Standby {
  const reads = { standby: 0, primary: 0 }
  let restsUntil = 0
  const rest = () => {
    restsUntil = performance.now() + REST_MS
  }
  return {
    pool,
    reads,
    rest,
    hasAll: async (primary) => {
      if (performance.now() < restsUntil) return false
      try {
        const isReached = await readPosition(primary)
        const until = performance.now() + WAIT_MS_MAX
        while (!(await isReached(pool))) {
          if (performance.now() > until) {
            rest()
            return false
          }
          await pause(LOOK_EVERY_MS)
        }
        return true
      } catch (error) {
        if (!(error instanceof Error)) throw error
        rest()
        return false
      }
    },
  }
}

/**
 * Where the primary is now: the end of its flushed log, behind which no acknowledged commit lies, and its timeline. A
 * standby that still follows an earlier primary may have a longer log; its timeline is another one. What its control file
 * says of that is as old as its last restart point, so one that has changed its primary is asked again only after that.
 */
async function readPosition(primary: Pool): Promise<(standby: Pool) => Promise<boolean>> {
  const { rows } = await primary.query<{ lsn: string; timeline: number }>(
    // A log file's name begins with the timeline; the control file has it only after the first checkpoint.
    `select lsn::text, ('x' || left(pg_walfile_name(lsn), 8))::bit(32)::integer as timeline
     from pg_current_wal_flush_lsn() as lsn`,
  )
  const { lsn, timeline } = rows[0] ?? {}
  return async (standby) => {
    const answer = await standby.query<{ reached: boolean }>(
      `select pg_is_in_recovery() and pg_last_wal_replay_lsn() >= $1::pg_lsn and timeline_id = $2 as reached
       from pg_control_checkpoint()`,
      [lsn, timeline],
    )
    return answer.rows[0]?.reached === true
  }
}

/** What reads are answered from. */
type ReadPools = { readonly pool: Pool; readonly standby?: Standby }

/**
 * A transaction that only reads, for what may take long: lists, exports, statistics. A standby answers it where there is
 * one that has everything which was acknowledged before the read began, by whichever process; else the primary does. So
 * nobody misses what they have just written.
 */
export async function withReadTransaction<Result>(
  { pool, standby }: ReadPools,
  tenant: Tenant,
  work: (tx: Tx) => Promise<Result>,
): Promise<Result> {
  if (standby === undefined) return withTransaction(pool, tenant, work)
  if (await standby.hasAll(pool)) {
    try {
      const result = await withTransaction(standby.pool, tenant, work)
      standby.reads.standby += 1
      return result
    } catch (error) {
      if (!isStandbysFault(error)) throw error
      standby.rest()
    }
  }
  standby.reads.primary += 1
  return withTransaction(pool, tenant, work)
}

/** It went away, or what it replays is in the way of the statement. */
const isStandbysFault = (error: unknown): boolean =>
  error instanceof Error && isDatabaseAway(error) && !('code' in error && error.code === TOOK_TOO_LONG)
