import { type ClaimedDelivery, isStillSendable, releaseDeliveries } from '../db/delivery/deliveries.ts'
import { secretContext } from '../db/delivery/endpoint-secrets.ts'
import type { Pool } from '../postgres/pool.ts'
import { withQueueTransaction } from '../postgres/transaction.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Log } from '../runtime/log.ts'
import type { Opener } from '../secrets/keyring.ts'
import type { Claimed } from './claim.ts'
import { type Clients, clientFor } from './clients.ts'
import { isSkewed } from './clock-skew.ts'
import type { EndpointQueues } from './endpoint-queues.ts'
import { attemptIn, type EventFormats, formatOf } from './event-format.ts'
import { createFaultLog, type FaultLog } from './fault-log.ts'
import type { Outcome } from './record-outcomes.ts'
import { RECEIVER_DEADLINE_MS, type SendOutcome, sendEvent } from './send.ts'

/**
 * The claim itself saw an eligible endpoint and its secrets. A row that waited longer than this, for its turn or
 * because the process slept, is looked at again: the endpoint may be disabled, its secret another, the lease lost.
 */
const RECHECK_AFTER_MS = 200

/** A claimed delivery on its way to its endpoint. */
export type Row = {
  readonly endpointId: string
  readonly delivery: ClaimedDelivery
  readonly claimed: Claimed
  /** The secret in the clear; each is opened once for a claim, and forgotten with it. */
  readonly open: OpenSecret
}
type OpenSecret = (delivery: ClaimedDelivery, secret: ClaimedDelivery['secrets'][number]) => string

type DispatcherDeps = {
  readonly pool: Pool
  readonly clock: Clock
  readonly log: Log
  readonly keyring: Opener
  readonly clients: Clients
  readonly formats: EventFormats
  readonly queues: EndpointQueues<Row>
  readonly onOutcome: (outcome: Outcome, onCommitted?: () => void) => void
  /** Half of what was held at the last claim has ended. */
  readonly onRoom: () => void
}

/** Sends claimed deliveries as their queues have slots, and gives back those that it will not send. */
export class Dispatcher {
  readonly #deps: DispatcherDeps
  readonly #sending = new Set<Promise<void>>()
  readonly #giveBackFaults: FaultLog
  readonly #lookFaults: FaultLog
  /** `onRoom` is called once no more than this many are held. */
  #refillBelow = 0

  constructor(deps: DispatcherDeps) {
    this.#deps = deps
    this.#giveBackFaults = createFaultLog(deps.log, 'giving back claimed deliveries')
    this.#lookFaults = createFaultLog(deps.log, 'looking at claimed deliveries again before they are sent')
  }

  /** Sends each claimed delivery as its queue has a slot; outcomes come by `onOutcome`. */
  send(claimed: Claimed): void {
    const { queues, keyring } = this.#deps
    const open = createOpener(keyring)
    const refused: Row[] = []
    for (const delivery of claimed.deliveries) {
      const row = { endpointId: delivery.endpointId, delivery, claimed, open }
      if (!queues.add(row, delivery.failures > 0)) refused.push(row)
    }
    this.#fillSlots()
    this.#track(this.#giveBack(refused))
    this.#refillBelow = Math.floor(queues.held / 2)
  }

  /** Gives claimed deliveries back unsent. */
  async release(claimed: Claimed): Promise<void> {
    const held = claimed.deliveries.map((delivery) => ({ ...delivery, leaseId: claimed.leaseId }))
    if (held.length > 0) await withQueueTransaction(this.#deps.pool, (tx) => releaseDeliveries(tx, held))
  }

  /** Gives back what waits, and resolves when nothing is in flight, or after `withinMs`. */
  async settle(withinMs: number): Promise<void> {
    await this.#giveBack(this.#deps.queues.takeWaiting())
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise((resolve) => {
      timer = setTimeout(resolve, withinMs)
    })
    await Promise.race([Promise.all(this.#sending), timeout])
    clearTimeout(timer)
  }

  #fillSlots(): void {
    const { queues } = this.#deps
    for (let row = queues.next(); row !== null; row = queues.next()) this.#start(row)
  }

  #start(row: Row): void {
    const { queues, onRoom } = this.#deps
    const startedAt = performance.now()
    const ended = this.#sendOne(row)
      .catch((error: unknown) => {
        // Only the database can have failed here, before anything was sent: the lease lapses and it goes out again.
        this.#lookFaults.failed(error)
        return false
      })
      .then((ok) => {
        const spared = queues.finished(row, { ok, durationMs: performance.now() - startedAt })
        this.#fillSlots()
        if (queues.held <= this.#refillBelow) onRoom()
        return this.#giveBack(spared)
      })
    this.#track(ended)
  }

  /** Whether the receiver took it; false also where it was not sent. */
  async #sendOne(row: Row): Promise<boolean> {
    const { delivery, claimed } = row
    if (!(await this.#isStillSendable(row))) {
      await this.#giveBack([row])
      return false
    }
    const result = await sendClaimed(this.#deps, row)
    const outcome = { delivery, leaseId: claimed.leaseId, result }
    if (result.code === 'ok') {
      this.#deps.onOutcome(outcome)
      return true
    }
    // A failure keeps its slot until it is counted: the next claim of its queue knows whether that is throttled.
    await new Promise<void>((resolve) => this.#deps.onOutcome(outcome, resolve))
    return false
  }

  async #isStillSendable({ delivery, claimed }: Row): Promise<boolean> {
    const { pool, clock } = this.#deps
    const waitedMs = performance.now() - claimed.claimedAt
    // The claim saw both clocks agree; the host's may have been set since.
    if (isSkewed(claimed.databaseNowMs + waitedMs, clock)) return false
    if (waitedMs <= RECHECK_AFTER_MS) return true
    const sendable = await withQueueTransaction(pool, (tx) =>
      isStillSendable(tx, delivery, claimed.leaseId, RECEIVER_DEADLINE_MS),
    )
    this.#lookFaults.recovered()
    return sendable
  }

  async #giveBack(rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return
    const held = rows.map(({ delivery, claimed }) => ({ ...delivery, leaseId: claimed.leaseId }))
    try {
      await withQueueTransaction(this.#deps.pool, (tx) => releaseDeliveries(tx, held))
      this.#giveBackFaults.recovered()
    } catch (error) {
      // Only later, not lost: the leases lapse.
      this.#giveBackFaults.failed(error)
    }
  }

  /** Work that a stop waits for. */
  #track(work: Promise<void>): void {
    const run = work.finally(() => this.#sending.delete(run))
    this.#sending.add(run)
  }
}

function createOpener(keyring: Opener): OpenSecret {
  const opened = new Map<string, string>()
  return (delivery, { id, sealed }) => {
    const known = opened.get(id)
    if (known !== undefined) return known
    const secret = keyring.open(sealed, secretContext(delivery.merchantId, id)).toString('utf8')
    opened.set(id, secret)
    return secret
  }
}

async function sendClaimed(
  deps: { clock: Clock; log: Log; clients: Clients; formats: EventFormats },
  { delivery, open }: Row,
): Promise<SendOutcome> {
  try {
    const http = clientFor(deps.clients, delivery.livemode)
    const secrets = delivery.secrets.map((secret) => open(delivery, secret))
    const format = formatOf(deps.formats, delivery.format)
    const result = await sendEvent(
      { http, clock: deps.clock },
      {
        queue: delivery.endpointId,
        url: delivery.url,
        eventId: delivery.eventId,
        schemaVersion: delivery.schemaVersion,
        body: delivery.body,
        secrets,
        ...(format === null ? {} : { message: attemptIn(format, delivery, delivery.attempt, secrets) }),
      },
    )
    if (result.code === 'internal') logInternal(deps.log, delivery, result.error)
    return result
  } catch (error) {
    logInternal(deps.log, delivery, error)
    return { code: 'internal', httpStatus: null, retryAfterMs: null, durationMs: 0, error }
  }
}

function logInternal(log: Log, delivery: ClaimedDelivery, error: unknown): void {
  log.error(
    { err: error, delivery: delivery.id, endpoint: delivery.endpointId },
    'a delivery failed by a fault of ours',
  )
}
