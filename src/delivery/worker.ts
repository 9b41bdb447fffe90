import type { Clock } from '../clock.ts'
import { listenFor } from '../db/notify.ts'
import type { Pool } from '../db/pool.ts'
import { readDatabaseClock } from '../db/queries/delivery-upkeep.ts'
import type { Log } from '../log.ts'
import type { Keyring } from '../secrets/keyring.ts'
import { createWake } from '../wake.ts'
import { type Claimed, claimDeliveries } from './claim.ts'
import { closeClients, openClients } from './clients.ts'
import { isSkewed } from './clock-skew.ts'
import { createDispatcher, type Row } from './dispatch.ts'
import type { EventFormats } from './event-format.ts'
import { createFaultLog } from './fault-log.ts'
import { createLanes, WINDOW_START } from './lanes.ts'
import { createRecorder } from './recorder.ts'
import type { ResolveHost } from './resolve-host.ts'
import { startUpkeep } from './upkeep.ts'

const CONCURRENCY_DEFAULT = 256
/** Rows of one claim. */
const CLAIM_ROWS_MAX = 256
/** Sent but not committed: beyond this many the worker stops claiming. */
const UNRECORDED_MAX = 1_000
/** With nothing to do, the queue is looked at this often; notifications make it sooner. */
const POLL_MS_MIN = 100
const POLL_MS_SPREAD = 150
/** While there is work, the next claim waits until half of what is held has ended, or this long. */
const PACE_MS = 5
/** A claim of fewer rows than this found a trickle: the next waits until some have gathered, for each costs the same. */
const TRICKLE_ROWS = 16
const TRICKLE_PACE_MS = 15
/** Rows that wait for their turn: while a claim is on its way, no slot stands empty. */
const AHEAD_MAX = 512
const PROBE_EVERY_MS = 200
const FAULT_PAUSE_MS = 500
const SKEW_RECHECK_MS = 2_000
/** A graceful stop waits for what is in flight: one receiver's deadline, and the commit after it. */
const STOP_IN_FLIGHT_MS = 10_500
const STOP_RECORD_MS = 3_000

export type DeliveryWorkerOptions = {
  readonly pool: Pool
  /** The host's clock, which signatures carry; it must agree with the database's. */
  readonly clock: Clock
  readonly log: Log
  readonly keyring: Keyring
  /** Connection string of the delivery role, for notifications; absent, the worker only polls. */
  readonly listenUrl?: string
  /** Test endpoints may be http, addresses and private (`WEBHOOK_ALLOW_PRIVATE=1`). Live ones never. */
  readonly allowPrivateTest: boolean
  /** How endpoints are told that want other words than ours; none unless given. */
  readonly formats?: EventFormats
  /** Requests in flight at once. */
  readonly concurrency?: number
  readonly random?: () => number
  /** In place of DNS, for tests. */
  readonly resolve?: ResolveHost
  /** In place of the system's certificate authorities, for tests. */
  readonly ca?: string | Buffer
  /** Told of every attempt that was made: a bounded code and milliseconds. */
  readonly onAttempt?: (code: string, durationMs: number) => void
}

type DeliveryWorkerReport = {
  readonly inFlight: number
  readonly unrecorded: number
  /** Why nothing is sent; null while all is well. */
  readonly halted: 'clock_skew' | null
}

export type DeliveryWorker = {
  report(): DeliveryWorkerReport
  /** Claims nothing more, lets what is in flight end and be recorded, gives the rest back. */
  stop(): Promise<void>
}

/**
 * Sends due deliveries until stopped: claim a few of every endpoint's, POST, record in batches. Any number of
 * workers share one database; the lease decides whose a delivery is.
 */
export async function startDeliveryWorker(options: DeliveryWorkerOptions): Promise<DeliveryWorker> {
  const { pool, clock, log } = options
  const concurrency = options.concurrency ?? CONCURRENCY_DEFAULT
  const random = options.random ?? Math.random
  const wake = createWake()
  const lanes = createLanes<Row>(concurrency)
  const heldMax = concurrency + AHEAD_MAX
  const clients = openClients(options)
  const recorder = createRecorder({
    pool,
    clock,
    random,
    concurrency,
    faults: createFaultLog(log, 'recording deliveries'),
    onRecorded: () => {
      if (waitsForRecords && recorder.unrecorded() < UNRECORDED_MAX) wake.ring()
    },
  })
  const dispatcher = createDispatcher({
    pool,
    clock,
    log,
    keyring: options.keyring,
    clients,
    formats: options.formats ?? {},
    lanes,
    onOutcome: (outcome, onCommitted) => {
      options.onAttempt?.(outcome.result.code, outcome.result.durationMs)
      recorder.record(outcome, onCommitted)
    },
    onRoom: wake.ring,
  })
  const claimFaults = createFaultLog(log, 'claiming deliveries')
  let stopping = false
  let waitsForRecords = false
  let halted: 'clock_skew' | null = null
  let cursor = ''
  let probedAt = Number.NEGATIVE_INFINITY

  const claimOnce = async (): Promise<number> => {
    const free = Math.min(CLAIM_ROWS_MAX, heldMax - lanes.held())
    const probesMax =
      performance.now() - probedAt >= PROBE_EVERY_MS ? Math.min(free, lanes.confinedRoom()) : 0
    if (probesMax > 0) probedAt = performance.now()
    const claimed: Claimed = await claimDeliveries(
      { pool, clock },
      { cursor, rowsMax: free, rowsByDefault: WINDOW_START, roomByLane: lanes.room(), probesMax },
    )
    cursor = claimed.nextCursor
    if (isSkewed(claimed.databaseNowMs, clock)) {
      halted = 'clock_skew'
      log.error({ databaseNow: new Date(claimed.databaseNowMs), hostNow: clock() }, SKEW_MESSAGE)
      await dispatcher.release(claimed)
      return 0
    }
    dispatcher.send(claimed)
    return claimed.deliveries.length
  }

  const loop = async (): Promise<void> => {
    while (!stopping) {
      try {
        if (halted !== null) {
          await wake.wait(SKEW_RECHECK_MS)
          if (stopping || isSkewed((await readDatabaseClock(pool)).getTime(), clock)) continue
          halted = null
          log.info('host and database clocks agree again: deliveries go on')
        }
        waitsForRecords = recorder.unrecorded() >= UNRECORDED_MAX
        if (waitsForRecords || lanes.held() >= heldMax) {
          await wake.wait(POLL_MS_MIN)
          continue
        }
        const fromStart = cursor === ''
        const count = await claimOnce()
        claimFaults.recovered()
        // A claim that was full leaves more to take: where little is held besides, there is no time to lose.
        const hurry = count === CLAIM_ROWS_MAX && lanes.held() < heldMax / 2
        if (hurry) continue
        if (count >= TRICKLE_ROWS) await wake.wait(PACE_MS)
        else if (count > 0) await new Promise((resolve) => setTimeout(resolve, TRICKLE_PACE_MS))
        else if (fromStart && cursor === '') await wake.wait(POLL_MS_MIN + random() * POLL_MS_SPREAD)
      } catch (error) {
        claimFaults.failed(error)
        await wake.wait(FAULT_PAUSE_MS)
      }
    }
  }

  const upkeep = await startUpkeep({ pool, log })
  const listener =
    options.listenUrl === undefined
      ? null
      : listenFor(options.listenUrl, { onDeliveriesWaiting: wake.ring, onReconnect: wake.ring })
  const running = loop()
  return {
    report: () => ({ inFlight: lanes.inFlight(), unrecorded: recorder.unrecorded(), halted }),
    stop: async () => {
      stopping = true
      wake.ring()
      await Promise.all([running, upkeep.stop(), listener?.close()])
      await dispatcher.settle(STOP_IN_FLIGHT_MS)
      const all = await recorder.drain(STOP_RECORD_MS)
      if (!all) log.warn('some deliveries could not be recorded: their leases lapse and they are sent again')
      await closeClients(clients)
    },
  }
}

const SKEW_MESSAGE = 'host and database clocks are more than 30 s apart: nothing is sent until they agree'
