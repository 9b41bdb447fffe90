import { isDatabaseAway } from '../postgres/database-away.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { FaultLog } from './fault-log.ts'
import { endWithoutRecord, type Outcome, recordOutcomes, type UnrecordedEnd } from './record-outcomes.ts'

/** Outcomes of one commit. */
const BATCH_MAX = 256
/** Fewer than this, or than half of what may be in flight, wait a moment for more: a commit costs the same for one as for many. */
const BATCH_FULL_ENOUGH = 128
const GATHER_MS = 15
const RETRY_MS_MIN = 50
const RETRY_MS_MAX = 2_000
/** An outcome that the database refuses so often, also by itself, is not recorded. */
const REFUSALS_MAX = 10
/** Deliveries that one line of the log names. */
const NAMED_MAX = 10

const END_MESSAGES: { readonly [end in UnrecordedEnd]: string } = {
  postponed: 'their events are sent again, with the pauses of failed attempts',
  exhausted: 'retrying has ended, and their events await delivery',
  lapsed: 'their events are sent again after their leases',
}

/** Takes outcomes as they come and records them in batches: whatever gathers while one commit runs goes with the next. */
export type Recorder = {
  record(outcome: Outcome, onCommitted?: () => void): void
  /** Outcomes that are not committed yet. */
  unrecorded(): number
  /** Resolves when everything is recorded, or after `withinMs`; returns whether it was everything. */
  drain(withinMs: number): Promise<boolean>
}

type Waiting = {
  readonly outcome: Outcome
  readonly onCommitted: (() => void) | undefined
  refusals: number
}

type RecorderDeps = {
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly random: () => number
  /** Requests in flight at once. */
  readonly concurrency: number
  readonly faults: FaultLog
  readonly onRecorded: () => void
  /** Called for each outcome that the database refuses for good. */
  readonly onUnrecorded: (end: UnrecordedEnd) => void
}

export function createRecorder(deps: RecorderDeps): Recorder {
  const enough = Math.min(BATCH_FULL_ENOUGH, deps.concurrency / 2)
  const waiting: Waiting[] = []
  let writing = 0
  let running: Promise<void> | null = null
  let drainUntil: number = Number.POSITIVE_INFINITY

  const run = async (): Promise<void> => {
    let pause = RETRY_MS_MIN
    while (waiting.length > 0 && performance.now() < drainUntil) {
      if (waiting.length < enough) await new Promise((resolve) => setTimeout(resolve, GATHER_MS))
      const batch = waiting.splice(0, BATCH_MAX)
      writing = batch.length
      const { left, error } = await writeBatch(deps, batch)
      waiting.unshift(...left)
      writing = 0
      if (left.length > 0) {
        deps.faults.failed(error)
        await new Promise((resolve) => setTimeout(resolve, pause))
        pause = Math.min(RETRY_MS_MAX, pause * 2)
      } else {
        deps.faults.recovered()
        pause = RETRY_MS_MIN
      }
      deps.onRecorded()
    }
    running = null
  }

  return {
    record: (outcome, onCommitted) => {
      waiting.push({ outcome, onCommitted, refusals: 0 })
      running ??= Promise.resolve().then(run)
    },
    unrecorded: () => waiting.length + writing,
    drain: async (withinMs) => {
      drainUntil = performance.now() + withinMs
      await running
      return waiting.length === 0
    },
  }
}

type Written = { readonly left: readonly Waiting[]; readonly error: unknown }

/**
 * Records a batch, or each of it by itself where the database refuses it whole. Returns what to try again: it is tried
 * for as long as the process lives and the database is away; should the leases lapse meanwhile, the fence drops it and
 * the events go out again under the same id.
 */
async function writeBatch(deps: RecorderDeps, batch: readonly Waiting[]): Promise<Written> {
  const whole = await write(deps, batch)
  if (whole.left.length === 0 || isAway(whole.error)) return whole
  const refused: Waiting[] = []
  let { error } = whole
  for (const [index, one] of batch.entries()) {
    const single = batch.length === 1 ? whole : await write(deps, [one])
    if (single.left.length === 0) continue
    error = single.error
    if (isAway(error)) return { left: [...refused, ...batch.slice(index)], error }
    one.refusals += 1
    refused.push(one)
  }
  // Where others were written, the database is well and these are at fault.
  const unrecordable =
    refused.length < batch.length ? refused : refused.filter((one) => one.refusals >= REFUSALS_MAX)
  await giveUp(deps, unrecordable, error)
  return { left: refused.filter((one) => !unrecordable.includes(one)), error }
}

async function write(deps: RecorderDeps, batch: readonly Waiting[]): Promise<Written> {
  try {
    await recordOutcomes(
      deps,
      batch.map((one) => one.outcome),
    )
  } catch (error) {
    return { left: batch, error }
  }
  for (const one of batch) one.onCommitted?.()
  return { left: [], error: null }
}

/** Lets go of outcomes that cannot be recorded, and of the slots that wait for them. */
async function giveUp(deps: RecorderDeps, refused: readonly Waiting[], error: unknown): Promise<void> {
  if (refused.length === 0) return
  const ends = new Map<UnrecordedEnd, string[]>()
  for (const one of refused) {
    const end = await endWithoutRecord(deps, one.outcome)
    ends.set(end, [...(ends.get(end) ?? []), one.outcome.delivery.id])
    deps.onUnrecorded(end)
    one.onCommitted?.()
  }
  for (const [end, deliveries] of ends) {
    const named = { count: deliveries.length, deliveries: deliveries.slice(0, NAMED_MAX) }
    deps.log.error(
      { err: error, ...named },
      `outcomes of deliveries cannot be recorded: ${END_MESSAGES[end]}`,
    )
  }
}

const isAway = (error: unknown): boolean => error instanceof Error && isDatabaseAway(error)
