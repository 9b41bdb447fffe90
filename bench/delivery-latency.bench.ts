import { expect, test } from 'vitest'
import { createNotifier } from '../src/postgres/notify.ts'
import { createTestDatabase } from '../test/support/database.ts'
import {
  createTenant,
  createVerifiedEndpoint,
  emitEvent,
  fillBacklog,
} from '../test/support/webhook-fixtures.ts'
import { median, percentile, printFigure, spread } from './support/figure.ts'
import {
  createLoad,
  startReceiver,
  startSender,
  untilEmpty,
  type WebhookLoad,
} from './support/webhook-load.ts'

const ROUNDS = 5
const EVENTS = 60
/** Apart by so much that each finds worker and notifier idle, and not in step with the worker's poll. */
const PAUSE_MS_MIN = 55
const PAUSE_MS_SPREAD = 40
const DEAD_ROWS = 100_000

/** Milliseconds from each commit to the first byte of its POST at the receiver. */
async function measureLatencies(load: WebhookLoad): Promise<number[]> {
  const [endpoint] = load.endpoints
  if (endpoint === undefined) throw new Error('a load without endpoints')
  const notifier = createNotifier(load.database.pools.watcher)
  const committed = new Map<string, bigint>()
  const { reached } = await load.receiver.expect(EVENTS)
  for (let index = 0; index < EVENTS; index++) {
    const id = await emitEvent(load.database, endpoint.tenant)
    committed.set(id, process.hrtime.bigint())
    notifier.deliveriesWaiting()
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS_MIN + Math.random() * PAUSE_MS_SPREAD))
  }
  await reached
  await notifier.close()
  const received = await load.receiver.report(load.secrets)
  expect(received.every((event) => event.verified)).toBe(true)
  expect(received.map((event) => event.id).sort()).toEqual([...committed.keys()].sort())
  return received.map((event) => Number(event.atNs - (committed.get(event.id) ?? 0n)) / 1e6)
}

test('from commit to POST when idle, and beside the dead backlog of another endpoint', async () => {
  const database = await createTestDatabase()
  const receiver = await startReceiver()
  try {
    const load = await createLoad(database, receiver, 1)
    const dead = await createVerifiedEndpoint(
      database,
      await createTenant(database),
      'http://127.0.0.1:1/hooks',
    )
    const worker = await startSender('worker', { load, concurrency: 256 })
    const idle: number[][] = []
    const beside: number[][] = []
    await measureLatencies(load)
    for (let round = 0; round < ROUNDS; round++) {
      await database.owner.query('truncate delivery, delivery_lane')
      idle.push(await measureLatencies(load))
      await fillBacklog(database, dead, DEAD_ROWS)
      // It is throttled by now; what is measured is the backlog that waits for it.
      await untilEmpty(load, 'select where not exists (select from delivery_lane where next_at is not null)')
      beside.push(await measureLatencies(load))
      await database.owner.query('delete from delivery where endpoint_id = $1', [dead.id])
      await database.owner.query('truncate event cascade')
    }
    const p99 = (rounds: readonly number[][]) => rounds.map((values) => percentile(values, 0.99))
    const p50 = (rounds: readonly number[][]) => rounds.map(median)
    printFigure({
      name: 'commit → POST when idle, p50',
      target: '≤ 10 ms',
      measured: `${median(p50(idle)).toFixed(1)} ms`,
      detail: `spread ${spread(p50(idle))}`,
    })
    printFigure({
      name: 'commit → POST when idle, p99',
      target: '≤ 50 ms',
      measured: `${median(p99(idle)).toFixed(1)} ms`,
      detail: `spread ${spread(p99(idle))}`,
    })
    const ratios = p99(beside).map((value, round) => value / (p99(idle)[round] ?? Number.NaN))
    printFigure({
      name: `p99 of a healthy endpoint with ${DEAD_ROWS} rows of a dead one ÷ without`,
      target: '≤ 1.5',
      measured: median(ratios).toFixed(2),
      detail: `spread ${spread(ratios)}; p99 ${median(p99(beside)).toFixed(1)} ms against ${median(p99(idle)).toFixed(1)} ms, p50 ${median(p50(beside)).toFixed(1)} against ${median(p50(idle)).toFixed(1)} ms`,
    })
    await worker.stop()
  } finally {
    receiver.stop()
    await database.drop()
  }
})
