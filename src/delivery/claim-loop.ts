import { readDatabaseClock } from '../db/delivery/delivery-upkeep.ts'
import { isAnyDelivery } from '../db/delivery/endpoint-queues.ts'
import type { Pool } from '../postgres/pool.ts'
import type { Activity } from '../runtime/activity.ts'
import { createAutoResetEvent } from '../runtime/auto-reset-event.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import { type Claimed, claimDeliveries } from './claim.ts'
import { isSkewed } from './clock-skew.ts'
import type { Dispatcher, Row } from './dispatcher.ts'
import { type EndpointQueues, WINDOW_START } from './endpoint-queues.ts'
import { createFaultLog, type FaultLog } from './fault-log.ts'
import { isNumbered, keepOrder } from './keep-order.ts'
import type { Recorder } from './recorder.ts'

/** Rows of one claim. */
const CLAIM_ROWS_MAX = 256
/** Sent but not committed: beyond this many the worker stops claiming. */
const UNRECORDED_MAX = 1_000
/** With nothing to do, the queue is looked at this often; notifications make it sooner. */
const POLL_MS_MIN = 100
const POLL_MS_SPREAD = 150
/** While nothing else happens in the installation, a retry that becomes due is this late at most. */
const RESTING_POLL_MS = 1_000
/** While there is work, the next claim waits until half of what is held has ended, or this long. */
const PACE_MS = 5
/** A claim of fewer rows than this found a trickle: the next waits until some have gathered, for each costs the same. */
const TRICKLE_ROWS = 16
const TRICKLE_PACE_MS = 15
/** Rows held beyond those in flight, so that no slot is empty while a claim runs. */
const AHEAD_MAX = 512
/** Throttled endpoints are claimed from this often. */
const THROTTLED_EVERY_MS = 500
const FAULT_PAUSE_MS = 500
const SKEW_RECHECK_MS = 2_000

type ClaimLoopDeps = {
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly random: () => number
  /** Requests in flight at once. */
  readonly concurrency: number
  readonly queues: EndpointQueues<Row>
  readonly dispatcher: Dispatcher
  readonly recorder: Recorder
  readonly activity: Activity | undefined
}

/** Claims due deliveries as fast as queues and recorder take them, and hands them to the dispatcher. */
export class ClaimLoop {
  readonly #deps: ClaimLoopDeps
  readonly #wake = createAutoResetEvent()
  readonly #heldMax: number
  readonly #orderFaults: FaultLog
  #isStopping = false
  #waitsForRecords = false
  #halted: 'clock_skew' | null = null
  /** Where the next claim begins among the queues; '' is the start of a round. */
  #cursor = ''
  #throttledClaimedAt = Number.NEGATIVE_INFINITY

  constructor(deps: ClaimLoopDeps) {
    this.#deps = deps
    this.#heldMax = deps.concurrency + AHEAD_MAX
    this.#orderFaults = createFaultLog(deps.log, 'putting deliveries in order')
  }

  /** Why nothing is sent; null while all is well. */
  get halted(): 'clock_skew' | null {
    return this.#halted
  }

  /** There may be deliveries to claim, or room for them. */
  wake(): void {
    this.#wake.signal()
  }

  /** Some outcomes were committed. */
  onRecorded(): void {
    if (this.#waitsForRecords && this.#deps.recorder.unrecorded() < UNRECORDED_MAX) this.#wake.signal()
  }

  /** Ends the run after the claim that is on its way. */
  stop(): void {
    this.#isStopping = true
    this.#wake.signal()
  }

  /** Claims until it is stopped; a claim that fails is logged and tried again. */
  async run(): Promise<void> {
    const faults = createFaultLog(this.#deps.log, 'claiming deliveries')
    const forget = this.#deps.activity?.onStir(this.#wake.signal)
    while (!this.#isStopping) {
      try {
        if (this.#halted !== null && !(await this.#clocksAgreeAgain())) continue
        if (this.#isFull()) {
          await this.#wake.wait(POLL_MS_MIN)
          continue
        }
        const fromStart = this.#cursor === ''
        const count = await this.#claimOnce()
        faults.recovered()
        await this.#pause(count, fromStart && this.#cursor === '')
      } catch (error) {
        faults.failed(error)
        await this.#wake.wait(FAULT_PAUSE_MS)
      }
    }
    forget?.()
  }

  async #clocksAgreeAgain(): Promise<boolean> {
    const { pool, clock, log } = this.#deps
    await this.#wake.wait(SKEW_RECHECK_MS)
    if (this.#isStopping || isSkewed((await readDatabaseClock(pool)).getTime(), clock)) return false
    this.#halted = null
    log.info('host and database clocks agree again: deliveries go on')
    return true
  }

  #isFull(): boolean {
    const { queues, recorder } = this.#deps
    this.#waitsForRecords = recorder.unrecorded() >= UNRECORDED_MAX
    return this.#waitsForRecords || queues.held >= this.#heldMax
  }

  /** How many deliveries were claimed and handed on; 0 also where the clocks disagree. */
  async #claimOnce(): Promise<number> {
    const { pool, clock, log, queues, dispatcher } = this.#deps
    const free = Math.min(CLAIM_ROWS_MAX, this.#heldMax - queues.held)
    const isThrottledDue = performance.now() - this.#throttledClaimedAt >= THROTTLED_EVERY_MS
    if (isThrottledDue) this.#throttledClaimedAt = performance.now()
    const claimed = await claimDeliveries(
      { pool, clock },
      {
        cursor: this.#cursor,
        rowsMax: free,
        rowsByDefault: WINDOW_START,
        roomByQueue: queues.room(),
        ...(isThrottledDue ? { throttled: queues.throttledRoom(free) } : {}),
      },
    )
    this.#cursor = claimed.nextCursor
    if (claimed.refusal !== null)
      log.error({ err: claimed.refusal.error }, 'attempts of unknown outcome cannot be recorded')
    if (isSkewed(claimed.databaseNowMs, clock)) {
      this.#halted = 'clock_skew'
      log.error({ databaseNow: new Date(claimed.databaseNowMs), hostNow: clock() }, SKEW_MESSAGE)
      await dispatcher.release(claimed)
      return 0
    }
    await this.#send(claimed)
    return claimed.deliveries.length
  }

  /** What needs no order goes at once, whatever is found out of the others. */
  async #send(claimed: Claimed): Promise<void> {
    const { dispatcher } = this.#deps
    const numbered = claimed.deliveries.filter(isNumbered)
    dispatcher.send({ ...claimed, deliveries: numbered })
    if (numbered.length === claimed.deliveries.length) return
    try {
      dispatcher.send({ ...claimed, deliveries: await keepOrder(this.#deps, claimed) })
      this.#orderFaults.recovered()
    } catch (error) {
      // Only later, not lost: the leases lapse.
      this.#orderFaults.failed(error)
    }
  }

  /** At rest nothing can become due in a queue without rows, and whoever adds one says so. */
  async #pollMs(): Promise<number> {
    const { activity, pool, random } = this.#deps
    if (activity?.isResting !== true) return POLL_MS_MIN + random() * POLL_MS_SPREAD
    return (await isAnyDelivery(pool)) ? RESTING_POLL_MS : activity.restMs
  }

  /** Waits as long as the last claim suggests; `wasWholeRound`: it looked at every queue. */
  async #pause(count: number, wasWholeRound: boolean): Promise<void> {
    // A claim that was full leaves more to take: where little is held besides, there is no time to lose.
    if (count === CLAIM_ROWS_MAX && this.#deps.queues.held < this.#heldMax / 2) return
    if (count >= TRICKLE_ROWS) await this.#wake.wait(PACE_MS)
    else if (count > 0) await new Promise((resolve) => setTimeout(resolve, TRICKLE_PACE_MS))
    else if (wasWholeRound) await this.#wake.wait(await this.#pollMs())
  }
}

const SKEW_MESSAGE = 'host and database clocks are more than 30 s apart: nothing is sent until they agree'
