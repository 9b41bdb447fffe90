import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { BACKOFF_MAX_MS, GIVE_UP_AFTER_MS, WAIT_MS_MAX } from '../../src/core/endpoint/backoff.ts'
import { THROTTLED_ROWS_PER_TURN } from '../../src/core/endpoint/throttle.ts'
import { type ClaimedDelivery, LEASE_MS, releaseDeliveries } from '../../src/db/delivery/deliveries.ts'
import { claimDeliveries } from '../../src/delivery/claim.ts'
import { EndpointQueues, WINDOW_START } from '../../src/delivery/endpoint-queues.ts'
import { recordOutcomes } from '../../src/delivery/record-outcomes.ts'
import { sendToRecovered } from '../../src/delivery/upkeep.ts'
import type { Pool } from '../../src/postgres/pool.ts'
import { withQueueTransaction } from '../../src/postgres/transaction.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { type Random, seededRandom } from '../support/random.ts'
import {
  countRows,
  createTenant,
  createVerifiedEndpoint,
  type TestEndpoint,
} from '../support/webhook-fixtures.ts'
import { createSimulatedClock, type SimulatedClock } from './simulated-clock.ts'

const LONG = process.env.LONG === '1'
const SEEDS = LONG ? Array.from({ length: 20 }, (_, index) => 20_261_122 + index) : [20_261_125]
const START_MS = Date.UTC(2026, 0, 1)
const HOUR_MS = 3_600_000
/** A turn takes 36 times as long as a timeout of ten seconds: 400 deliveries here are as 14,400 are to a worker. */
const TURN_MS = 360_000
const TIMEOUT_MS = 10_000
const ANSWER_MS = 20
const AT_ONCE = 200
const DRAIN_PAUSE_MS = 1_000
/** Turns of fewer than eight: the first two, what was due to the healthy endpoint, and the last. */
const START_TURNS = 4
const OUTAGE_MS = 6 * 24 * HOUR_MS
const YEAR_MS = 365 * 24 * HOUR_MS
const ROWS_MAX = 64

type Row = { readonly endpointId: string; readonly delivery: ClaimedDelivery; readonly leaseId: string }

let database: TestDatabase
let clock: SimulatedClock
beforeAll(async () => {
  database = await createTestDatabase()
  clock = await createSimulatedClock(database, START_MS)
  await database.owner.query('create table attempt_simulated partition of attempt default')
})
afterAll(async () => {
  await clock.close()
  await database.drop()
})
beforeEach(async () => {
  await database.owner.query(
    'truncate delivery, delivery_lane, event_awaiting, attempt, event, webhook_endpoint cascade',
  )
  await clock.set(START_MS)
  vi.spyOn(performance, 'now').mockImplementation(() => clock.now().getTime() - START_MS)
})
afterEach(() => vi.restoreAllMocks())

/** A worker without a network: it claims and records as the real one does, and notes when it tried what. */
class SimulatedWorker {
  readonly tries = new Map<string, number[]>()
  readonly #pool: Pool
  readonly #random: Random
  #queues = new EndpointQueues<Row>(ROWS_MAX)

  constructor(pool: Pool, random: Random) {
    this.#pool = pool
    this.#random = random
  }

  /** One turn: everything that the worker may send now is sent, and ends after `durationMs`. Returns how many. */
  async turn(durationMs: number, isDown: (endpointId: string) => boolean): Promise<number> {
    const claimed = await claimDeliveries(
      { pool: this.#pool, clock: clock.now },
      {
        cursor: '',
        rowsMax: ROWS_MAX,
        rowsByDefault: WINDOW_START,
        roomByQueue: this.#queues.room(),
        throttled: this.#queues.throttledRoom(ROWS_MAX),
      },
    )
    const rows = claimed.deliveries.map(
      (delivery): Row => ({ endpointId: delivery.endpointId, delivery, leaseId: claimed.leaseId }),
    )
    const refused = rows.filter((row) => !this.#queues.add(row, row.delivery.failures > 0))
    const sent: Row[] = []
    for (let row = this.#queues.next(); row !== null; row = this.#queues.next()) sent.push(row)
    const nowMs = clock.now().getTime()
    for (const { delivery } of sent) {
      this.tries.set(delivery.eventId, [...(this.tries.get(delivery.eventId) ?? []), nowMs])
    }
    await clock.set(nowMs + durationMs)
    const spared = sent.flatMap((row) =>
      this.#queues.finished(row, { ok: !isDown(row.endpointId), durationMs }),
    )
    await this.#giveBack([...refused, ...spared, ...this.#queues.takeWaiting()])
    if (sent.length > 0)
      await recordOutcomes(
        this.#recorder(),
        sent.map((row) => this.#outcomeOf(row, isDown)),
      )
    await sendToRecovered(this.#pool)
    return sent.length
  }

  /** Claims as before, and is gone: the leases lapse, and another knows nothing of what this one knew. */
  async crash(): Promise<void> {
    await claimDeliveries(
      { pool: this.#pool, clock: clock.now },
      {
        cursor: '',
        rowsMax: ROWS_MAX,
        rowsByDefault: WINDOW_START,
        roomByQueue: this.#queues.room(),
        throttled: this.#queues.throttledRoom(ROWS_MAX),
      },
    )
    this.#queues = new EndpointQueues(ROWS_MAX)
  }

  #recorder() {
    return { pool: this.#pool, clock: clock.now, random: () => this.#random.below(1_000_000) / 1_000_000 }
  }

  #outcomeOf({ delivery, leaseId, endpointId }: Row, isDown: (endpointId: string) => boolean) {
    const none = { httpStatus: null, retryAfterMs: null, durationMs: TIMEOUT_MS, error: null }
    if (!isDown(endpointId))
      return { delivery, leaseId, result: { ...none, code: 'ok', httpStatus: 200 } as const }
    if (this.#random.chance(0.2)) {
      const result = { ...none, code: 'http_status', httpStatus: 429, retryAfterMs: 10 * YEAR_MS } as const
      return { delivery, leaseId, result }
    }
    return { delivery, leaseId, result: { ...none, code: 'timeout' } as const }
  }

  async #giveBack(rows: readonly Row[]): Promise<void> {
    const held = rows.map(({ delivery, leaseId }) => ({ ...delivery, leaseId }))
    if (held.length > 0) await withQueueTransaction(this.#pool, (tx) => releaseDeliveries(tx, held))
  }
}

/** When the first of the deliveries that wait is due. */
async function firstDueMs(): Promise<number> {
  const { rows } = await database.owner.query<{ at: Date }>('select min(due_at) as at from delivery')
  if (rows[0] === undefined) throw new Error('nothing waits')
  return rows[0].at.getTime()
}

let made = 0
/** Events for one endpoint, made now. Returns when each was made. */
async function emit(endpoint: TestEndpoint, count: number, into: Map<string, number>): Promise<void> {
  const at = clock.now()
  const ids = Array.from({ length: count }, () => `evt_${String(++made).padStart(26, '0')}`)
  await database.owner.query(
    `with made as (
       insert into event (merchant_id, id, livemode, event_type, resource_id, sequence, body, created_at)
       select $1, id, false, 'invoice.created', 'inv_' || id, 1, '{}', $4 from unnest($2::text[]) id returning id)
     insert into delivery (merchant_id, id, livemode, endpoint_id, event_id, due_at, give_up_at)
     select $1, 'dlv_' || id, false, $3, id, $4, $5 from made`,
    [endpoint.tenant.merchantId, ids, endpoint.id, at, new Date(at.getTime() + GIVE_UP_AFTER_MS)],
  )
  for (const id of ids) into.set(id, at.getTime())
}

test.each(SEEDS)(
  'in six days of outage no delivery is untried for 12 hours, and the end of it sends all (seed %i)',
  {
    timeout: 1_200_000,
  },
  async (seed) => {
    const random = seededRandom(seed)
    const tenant = await createTenant(database)
    const dead = await createVerifiedEndpoint(database, tenant, 'https://dead.example/hooks')
    const healthy = await createVerifiedEndpoint(database, tenant)
    const isDown = (endpointId: string) => endpointId === dead.id
    const worker = new SimulatedWorker(clock.poolFor('delivery'), random)
    const [toDead, toHealthy] = [new Map<string, number>(), new Map<string, number>()]
    await emit(dead, AT_ONCE, toDead)
    for (let turn = 0; turn * TURN_MS < OUTAGE_MS; turn++) {
      await clock.set(START_MS + turn * TURN_MS)
      if (random.chance(0.16)) await emit(dead, 1, toDead)
      if (random.chance(0.05)) await emit(healthy, 1, toHealthy)
      if (random.chance(0.005)) await worker.crash()
      else await worker.turn(TIMEOUT_MS, isDown)
    }
    const left = await database.owner.query<{ event_id: string }>('select event_id from delivery')
    const waiting = new Set(left.rows.map((row) => row.event_id))
    const [endMs, gaps, firsts]: [number, number[], number[]] = [clock.now().getTime(), [], []]
    for (const [eventId, madeAtMs] of toDead) {
      const times = [madeAtMs, ...(worker.tries.get(eventId) ?? []), ...(waiting.has(eventId) ? [endMs] : [])]
      gaps.push(...times.slice(1).map((time, index) => time - (times[index] ?? time)))
      firsts.push((times[1] ?? Number.POSITIVE_INFINITY) - madeAtMs)
      // Given up after its whole window, which ends when no further attempt would fit.
      if (!waiting.has(eventId))
        expect((times.at(-1) ?? 0) - madeAtMs).toBeGreaterThanOrEqual(
          GIVE_UP_AFTER_MS - WAIT_MS_MAX - TIMEOUT_MS,
        )
    }
    expect(Math.max(...gaps)).toBeLessThanOrEqual(BACKOFF_MAX_MS)
    expect(Math.max(...firsts)).toBeLessThanOrEqual(BACKOFF_MAX_MS - WAIT_MS_MAX)
    expect(waiting.size).toBeGreaterThan(AT_ONCE / 2)
    // A neighbour waits for a turn at most, also beside a worker that was killed.
    for (const [eventId, madeAtMs] of toHealthy) {
      expect((worker.tries.get(eventId)?.[0] ?? Number.POSITIVE_INFINITY) - madeAtMs).toBeLessThanOrEqual(
        2 * TURN_MS,
      )
    }

    // Nobody knows that the endpoint is back before something is due to it, six hours at most from now: the clock goes
    // on to that moment. One, two and then eight are sent a turn, and what a worker held that was killed comes last.
    await clock.set(Math.max(endMs, await firstDueMs()))
    expect(clock.now().getTime() - endMs).toBeLessThanOrEqual(WAIT_MS_MAX)
    const turnsMax = Math.ceil(waiting.size / THROTTLED_ROWS_PER_TURN) + START_TURNS
    let idleMs = 0
    for (let turns = 0; (await countRows(database, 'delivery')) > 0; ) {
      if ((await worker.turn(ANSWER_MS, () => false)) > 0) turns += 1
      else idleMs += ANSWER_MS + DRAIN_PAUSE_MS
      await clock.set(clock.now().getTime() + DRAIN_PAUSE_MS)
      expect(turns).toBeLessThanOrEqual(turnsMax)
      expect(idleMs).toBeLessThanOrEqual(LEASE_MS)
    }
    expect(await countRows(database, 'event_awaiting')).toBe(toDead.size - waiting.size)
  },
)
