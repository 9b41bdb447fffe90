import { setTimeout as pause } from 'node:timers/promises'
import type { Tenant } from '../core/tenant.ts'
import { isDatabaseAway } from './database-away.ts'
import type { Pool, Queryable } from './pool.ts'
import { type Tx, withOneMoment, withTransaction } from './transaction.ts'

/** How long a read waits for a standby to have replayed what the primary has, or to say anything; then the primary answers. */
const WAIT_MS_MAX = 100
const LOOK_EVERY_MS = 5
/** A standby that lagged or failed is left alone for this long: reads do not all wait for it in vain. */
const REST_MS = 1_000
/** An audit reads for minutes or hours: it waits longer. */
const MOMENT_WAIT_MS_MAX = 5_000
/** SQLSTATE query_canceled: the statement's own limit of time, which the primary would only meet again. */
const TOOK_TOO_LONG = '57014'

/** A standby that answers reads, and how many it did answer. */
export type Standby = {
  /**
   * What `work` returns in a transaction on the standby, or null where the primary has to answer: the standby does not have
   * all that the primary has acknowledged up to now, says nothing, or breaks off. `work` may then run a second time.
   */
  read<Result>(
    primary: Pool,
    tenant: Tenant,
    work: (tx: Tx) => Promise<Result>,
  ): Promise<{ readonly result: Result } | null>
  readonly reads: { standby: number; primary: number }
}

export function createStandby(pool: Pool): Standby {
  const reads = { standby: 0, primary: 0 }
  let restsUntil = 0
  const rest = () => {
    restsUntil = performance.now() + REST_MS
  }
  return {
    reads,
    read: async (primary, tenant, work) => {
      if (performance.now() < restsUntil) return null
      const state: { turn: 'waiting' | 'reading' | 'given up' } = { turn: 'waiting' }
      try {
        const position = await readPosition(primary)
        // Asked on the connection that then reads: behind one address may be several standbys.
        const reading = withTransaction(pool, tenant, async (tx) => {
          while (state.turn === 'waiting') {
            const reach = await reachOf(tx, primary, position)
            if (reach === 'reached') break
            if (reach !== 'behind') return null
            await pause(LOOK_EVERY_MS)
          }
          if (state.turn !== 'waiting') return null
          state.turn = 'reading'
          return { result: await work(tx) }
        })
        const late = pause(WAIT_MS_MAX).then(() => {
          if (state.turn === 'reading') return reading
          state.turn = 'given up'
          return null
        })
        const answer = await Promise.race([reading, late])
        if (answer === null) rest()
        return answer
      } catch (error) {
        const isReading = state.turn === 'reading'
        if (isReading && isTooLong(error)) throw error
        // Where the statement itself is at fault, the primary says so again.
        if (!isReading || isAway(error)) rest()
        return null
      }
    },
  }
}

/** The end of the primary's flushed log, behind which no acknowledged commit lies, its timeline, and which database it is. */
type Position = { readonly lsn: string; readonly timeline: number; readonly database: string }

/** The same on a primary and its standbys, and on nothing else. */
const DATABASE = `(select system_identifier || '/' || oid from pg_control_system(), pg_database
  where datname = current_database())`

async function readPosition(primary: Pool): Promise<Position> {
  const { rows } = await primary.query<Position>(
    // A log file's name begins with the timeline; the control file has it only after the first checkpoint.
    `select lsn::text, ('x' || left(pg_walfile_name(lsn), 8))::bit(32)::integer as timeline, ${DATABASE} as database
     from pg_current_wal_flush_lsn() as lsn`,
  )
  const [position] = rows
  if (position === undefined) throw new Error('the primary does not say where its log ends')
  return position
}

/** Where a standby stands that will never be there. */
const NEVER = {
  other: 'it is no standby of this primary, or follows an earlier one',
  ahead: 'it has replayed more than the primary has: that was set back to an earlier state',
} as const

/**
 * Whether a standby has replayed that much. One that still follows an earlier primary may have a longer log; its timeline is
 * another one. What its control file says of that is as old as its last restart point, so one that has changed its primary is
 * asked again only after that. A primary that was set back to a snapshot of its disk stays on its timeline, but no standby
 * replays what its primary has not flushed.
 */
async function reachOf(
  standby: Queryable,
  primary: Pool,
  { lsn, timeline, database }: Position,
): Promise<'reached' | 'behind' | keyof typeof NEVER> {
  const { rows } = await standby.query<{ isItsOwn: boolean; order: number | null; replayed: string }>(
    `select pg_is_in_recovery() and timeline_id = $2 and ${DATABASE} = $3 as "isItsOwn",
       sign(replayed - $1::pg_lsn)::integer as order, replayed::text
     from pg_control_checkpoint(), pg_last_wal_replay_lsn() as replayed`,
    [lsn, timeline, database],
  )
  const [row] = rows
  if (row?.isItsOwn !== true) return 'other'
  if (row.order === null || row.order < 0) return 'behind'
  return row.order === 0 || (await hasFlushed(primary, row.replayed)) ? 'reached' : 'ahead'
}

async function hasFlushed(primary: Pool, lsn: string): Promise<boolean> {
  const { rows } = await primary.query<{ is: boolean }>(
    'select pg_current_wal_flush_lsn() >= $1::pg_lsn as is',
    [lsn],
  )
  return rows[0]?.is === true
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
  const read = await standby.read(pool, tenant, work)
  standby.reads[read === null ? 'primary' : 'standby'] += 1
  return read === null ? withTransaction(pool, tenant, work) : read.result
}

/** Where a moment was read. */
export type ReadFrom = {
  /** Whose processes work at it. */
  readonly pool: Pool
  /** The end of the primary's log when it began, all of which was read; null where the primary itself was. */
  readonly standbyAt: string | null
  /** Why a standby that is there was not read. */
  readonly passedOver: Error | null
}

/**
 * One moment of everything, for what may read for hours. A standby gives it once it has replayed all that the primary had
 * acknowledged. Where it does not, or breaks off, the primary gives it, and `work` runs a second time from its beginning.
 */
export async function withReadMoment<Result>(
  { pool, standby }: { readonly pool: Pool; readonly standby: Pool | null },
  statementMinutesMax: number,
  work: (tx: Tx, from: ReadFrom) => Promise<Result>,
): Promise<Result> {
  let passedOver: Error | null = null
  if (standby !== null) {
    let hasBegun = false
    try {
      const position = await readPosition(pool)
      const from = { pool: standby, standbyAt: position.lsn, passedOver: null }
      const begin = (tx: Tx) => {
        hasBegun = true
        return work(tx, from)
      }
      return await withOneMoment(standby, statementMinutesMax, begin, (db) => reach(db, pool, position))
    } catch (error) {
      if (!(error instanceof Error) || (hasBegun && !isAway(error))) throw error
      passedOver = error
    }
  }
  const from = { pool, standbyAt: null, passedOver }
  return withOneMoment(pool, statementMinutesMax, (tx) => work(tx, from))
}

async function reach(standby: Queryable, primary: Pool, position: Position): Promise<void> {
  const until = performance.now() + MOMENT_WAIT_MS_MAX
  for (;;) {
    const at = await reachOf(standby, primary, position)
    if (at === 'reached') return
    if (at !== 'behind') throw new Error(NEVER[at])
    if (performance.now() > until) throw new Error('it did not replay in time what the primary has')
    await pause(LOOK_EVERY_MS)
  }
}

const isAway = (error: unknown): boolean => error instanceof Error && isDatabaseAway(error)

const isTooLong = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === TOOK_TOO_LONG
