import { expect, test } from 'vitest'
import { createTestDatabase } from '../test/support/database.ts'
import { median, printFigure, spread } from './support/figure.ts'
import {
  createLoad,
  fillEvents,
  type Receiver,
  startReceiver,
  startSender,
  type WebhookLoad,
} from './support/webhook-load.ts'

const ENDPOINTS = 16
const CONCURRENCY = 64
const SMALL = 10_000
const LARGE = 1_000_000
/** A million bodies of a full event's size would measure the disk. */
const BODY_BYTES = 200
const SENT = 9_000
const ROUNDS = 5

/** A fresh worker's deliveries per second over its first few thousand. Checks that each came once, and is recorded. */
async function measureStart(load: WebhookLoad, receiver: Receiver): Promise<number> {
  const { reached } = await receiver.expect(SENT)
  const before = await recorded(load)
  const worker = await startSender('worker', { load, concurrency: CONCURRENCY })
  await reached
  await worker.stop()
  const received = await receiver.report(load.secrets)
  expect(received.every((event) => event.verified)).toBe(true)
  expect(new Set(received.map((event) => event.id)).size).toBe(received.length)
  expect((await recorded(load)) - before).toBe(received.length)
  const [first, last] = [received[0]?.atNs ?? 0n, received[SENT - 1]?.atNs ?? 0n]
  return (SENT * 1e9) / Number(last - first)
}

async function recorded(load: WebhookLoad): Promise<number> {
  const { rows } = await load.database.owner.query<{ count: number }>(
    `select count(*)::int as count from attempt where code = 'ok'`,
  )
  return rows[0]?.count ?? 0
}

test('throughput with a million deliveries waiting against ten thousand', async () => {
  const [small, large] = [await createTestDatabase(), await createTestDatabase()]
  const receiver = await startReceiver()
  try {
    const smallLoad = await createLoad(small, receiver, ENDPOINTS)
    const largeLoad = await createLoad(large, receiver, ENDPOINTS)
    await fillEvents(largeLoad, LARGE, BODY_BYTES)
    await large.owner.query('vacuum analyze')
    const ratios: number[] = []
    const rates: [number[], number[]] = [[], []]
    for (let round = 0; round < ROUNDS; round++) {
      await small.owner.query('truncate delivery')
      await fillEvents(smallLoad, SMALL, BODY_BYTES)
      await small.owner.query('vacuum analyze')
      const few = await measureStart(smallLoad, receiver)
      const many = await measureStart(largeLoad, receiver)
      rates[0].push(few)
      rates[1].push(many)
      ratios.push(many / few)
    }
    printFigure({
      name: 'throughput with 1,000,000 deliveries waiting ÷ with 10,000',
      target: '≥ 0.8',
      measured: median(ratios).toFixed(2),
      detail: `spread ${spread(ratios)}; ${median(rates[1]).toFixed(0)}/s against ${median(rates[0]).toFixed(0)}/s, a worker's first ${SENT}`,
    })
  } finally {
    receiver.stop()
    await small.drop()
    await large.drop()
  }
})
