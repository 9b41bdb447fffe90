import { listenFor } from '../postgres/notify.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Activity } from '../runtime/activity.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { pauseUnless } from '../runtime/repeat.ts'
import type { Opener } from '../secrets/keyring.ts'
import { ClaimLoop } from './claim-loop.ts'
import { openClients } from './clients.ts'
import { Dispatcher, type Row } from './dispatcher.ts'
import { EndpointQueues } from './endpoint-queues.ts'
import type { EventFormats } from './event-format.ts'
import { createFaultLog } from './fault-log.ts'
import type { UnrecordedEnd } from './record-outcomes.ts'
import { createRecorder } from './recorder.ts'
import type { ResolveHost } from './resolve-host.ts'
import { startUpkeep } from './upkeep.ts'

export const CONCURRENCY_DEFAULT = 256
/** A graceful stop waits for what is in flight: one receiver's deadline, and the commit after it. */
const STOP_IN_FLIGHT_MS = 10_500
const STOP_RECORD_MS = 3_000

export type DeliveryWorkerOptions = {
  readonly pool: Pool
  /** The host's clock, which signatures carry; it must agree with the database's. */
  readonly clock: Clock
  readonly log: Log
  readonly keyring: Opener
  /** Connection string of the delivery role, for notifications; absent, the worker only polls. */
  readonly listenUrl?: string
  /** Test endpoints may be http, addresses and private (`WEBHOOK_ALLOW_PRIVATE=1`). Live ones never. */
  readonly allowPrivateTest: boolean
  /** See `openClients`. */
  readonly staging?: boolean
  /** Translates bodies for endpoints in another format than ours; none unless given. */
  readonly formats?: EventFormats
  /** Requests in flight at once. */
  readonly concurrency?: number
  /** What its loops rest by; absent, they keep their pace. */
  readonly activity?: Activity
  readonly random?: () => number
  /** In place of DNS, for tests. */
  readonly resolve?: ResolveHost
  /** In place of the system's certificate authorities, for tests. */
  readonly ca?: string | Buffer
  /** Called for every attempt: a bounded code and milliseconds. */
  readonly onAttempt?: (code: string, durationMs: number) => void
  /** Called for every attempt whose outcome the database refuses. */
  readonly onUnrecorded?: (end: UnrecordedEnd) => void
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
  const { activity, pool, clock, log } = options
  const concurrency = options.concurrency ?? CONCURRENCY_DEFAULT
  const random = options.random ?? Math.random
  const queues = new EndpointQueues<Row>(concurrency)
  const clients = openClients(options)
  const recorder = createRecorder({
    pool,
    clock,
    log,
    random,
    concurrency,
    faults: createFaultLog(log, 'recording deliveries'),
    onRecorded: () => claiming.onRecorded(),
    onUnrecorded: (end) => options.onUnrecorded?.(end),
  })
  const dispatcher = new Dispatcher({
    pool,
    clock,
    log,
    keyring: options.keyring,
    clients,
    formats: options.formats ?? {},
    queues,
    onOutcome: (outcome, onCommitted) => {
      // A retry comes from nobody's notification, and what it brings about is upkeep's work.
      activity?.stir()
      options.onAttempt?.(outcome.result.code, outcome.result.durationMs)
      recorder.record(outcome, onCommitted)
    },
    onRoom: () => claiming.wake(),
  })
  const claiming = new ClaimLoop({
    pool,
    clock,
    log,
    random,
    concurrency,
    queues,
    dispatcher,
    recorder,
    activity,
  })

  const upkeep = await startUpkeep({ pool, log, pause: activity?.pause ?? pauseUnless })
  const listener =
    options.listenUrl === undefined
      ? null
      : listenFor(options.listenUrl, {
          onDeliveriesWaiting: () => claiming.wake(),
          onConnect: () => claiming.wake(),
        })
  const running = claiming.run()
  return {
    report: () => ({
      inFlight: queues.inFlight,
      unrecorded: recorder.unrecorded(),
      halted: claiming.halted,
    }),
    stop: async () => {
      claiming.stop()
      await Promise.all([running, upkeep.stop(), listener?.close()])
      await dispatcher.settle(STOP_IN_FLIGHT_MS)
      const all = await recorder.drain(STOP_RECORD_MS)
      if (!all) log.warn('some deliveries could not be recorded: their leases lapse and they are sent again')
      await clients.close()
    },
  }
}
