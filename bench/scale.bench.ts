import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { runAudit } from '../src/audit/run-audit.ts'
import { scanBlock } from '../src/chain/utxo/scan-block.ts'
import { createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { freePort } from '../test/support/free-port.ts'
import { makeBlock, setOf } from './support/block.ts'
import { median, printFigure } from './support/figure.ts'
import { driveHttp } from './support/http-load.ts'
import { numberOf } from './support/number-of.ts'
import { startPaylink } from './support/paylink.ts'
import { type Curve, plotCurves } from './support/plot.ts'
import { seedBooks } from './support/seed-books.ts'
import { seedInvoices } from './support/seed-invoices.ts'
import { createSignedPool, openNetwork } from './support/signed-pool.ts'
import {
  createLoad,
  fillEvents,
  type Receiver,
  startReceiver,
  startSender,
  type WebhookLoad,
} from './support/webhook-load.ts'

/** Each of the sizes in turn, and all of them again: what else the machine does meets all alike. */
const ROUNDS = 3
/** Powers of ten, up to this many: of invoices, deliveries and addresses, and of invoices to audit. */
const SIZE_MAX = numberOf('SIZE_MAX', 1_000_000)
const AUDIT_MAX = numberOf('AUDIT_MAX', 100_000)
const STEPS = 5
const PICTURE = new URL('../docs/images/scale.svg', import.meta.url)

function sizesUpTo(max: number): number[] {
  const sizes = Array.from({ length: STEPS }, (_, step) => max / 10 ** (STEPS - 1 - step))
  if (!sizes.every(Number.isInteger)) throw new Error(`${max} is no multiple of ${10 ** (STEPS - 1)}`)
  return sizes
}

const curves: Curve[] = []
afterAll(async () => {
  if (curves.length === 0) return
  const machine = 'two cores that the load and the database share'
  await writeFile(
    PICTURE,
    plotCurves(curves, `Medians of ${ROUNDS} turns on ${machine}. Dotted: where size costs nothing.`),
  )
})

/** Measures each size in turn, `ROUNDS` times, and keeps the medians as a curve. */
async function measureCurve(
  about: Omit<Curve, 'points'>,
  sizes: readonly number[],
  measure: (size: number, round: number) => Promise<number>,
): Promise<void> {
  const values = new Map<number, number[]>(sizes.map((size) => [size, []]))
  for (let round = 0; round < ROUNDS; round++)
    for (const [size, measured] of values) measured.push(await measure(size, round))
  const points = [...values].map(([size, measured]) => ({ size, value: median(measured) }))
  curves.push({ ...about, points })
  const [first, last] = [points[0]?.value ?? Number.NaN, points.at(-1)?.value ?? Number.NaN]
  printFigure({
    name: `${about.title}, ${about.unit}: ${sizes.at(-1)} ${about.across} ÷ ${sizes[0]}`,
    target: 'measured',
    measured: (last / first).toFixed(2),
    detail: points.map(({ size, value }) => `${value.toPrecision(3)} at ${size}`).join(', '),
  })
}

const CLIENTS = 16
const CREATE_MS = 2_000
const ADDRESSES = 2_000

test('creating an invoice beside those that exist', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'paylink-bench-'))
  const shops = new Map<number, Awaited<ReturnType<typeof openShop>>>()
  try {
    const sizes = sizesUpTo(SIZE_MAX)
    for (const size of sizes) shops.set(size, await openShop(join(folder, String(size)), size))
    await measureCurve(
      {
        title: 'Creating an invoice',
        across: 'invoices that the shop has',
        unit: 'invoices a second, over HTTP',
      },
      sizes,
      async (size) => (await shops.get(size)?.create()) ?? Number.NaN,
    )
  } finally {
    for (const shop of shops.values()) await shop.close()
    await rm(folder, { recursive: true, force: true })
  }
})

/** An API process on a database of its own, in which a merchant has so many invoices. */
async function openShop(folder: string, size: number) {
  const database = await createTestDatabase()
  const port = await freePort()
  const paylink = await startPaylink(['api'], {
    DATABASE_URL: database.ownerUrl,
    API_DATABASE_URL: database.urls.api,
    WATCHER_DATABASE_URL: database.urls.watcher,
    DELIVERY_DATABASE_URL: database.urls.delivery,
    SIGNER_DATABASE_URL: database.urls.signer,
    DATA_DIR: folder,
    PORT: String(port),
    OPERATOR_PORT: String(await freePort()),
    RATE_LIMIT_TEST: '100000',
    OPEN_INVOICES_MAX: '1000000',
  })
  const { key, merchantId } = await paylink.createKey()
  await seedInvoices(database, size, { status: 'paid', merchantId })
  await openNetwork(database)
  const pool = await createSignedPool(folder, size)
  const body = '{"usd_amount":"49.99","asset":"LTC"}'
  const request = () =>
    `POST /api/v1/invoices HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n` +
    `idempotency-key: ${randomBytes(12).toString('hex')}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const drive = (durationMs: number) => driveHttp({ port, connections: CLIENTS, durationMs, request })
  await pool.fill(database, ADDRESSES)
  await drive(CREATE_MS / 4)
  return {
    create: async () => {
      await pool.fill(database, ADDRESSES)
      const { perSecond, statuses } = await drive(CREATE_MS)
      expect([...statuses.keys()]).toEqual([201])
      return perSecond
    },
    close: async () => {
      await paylink.stop()
      await database.drop()
    },
  }
}

const ENDPOINTS = 16
const CONCURRENCY = 64
/** Delivered in each turn, of so many more than shall wait. */
const SENT = 5_000
const BODY_BYTES = 200

test('delivering webhooks while others wait', async () => {
  const receiver = await startReceiver()
  const loads = new Map<number, WebhookLoad>()
  try {
    const sizes = sizesUpTo(SIZE_MAX)
    for (const size of sizes)
      loads.set(size, await createLoad(await createTestDatabase(), receiver, ENDPOINTS))
    await measureCurve(
      {
        title: 'Delivering a webhook',
        across: 'deliveries that wait',
        unit: 'deliveries a second, one worker',
      },
      sizes,
      async (size) => {
        const load = loads.get(size)
        return load === undefined ? Number.NaN : await deliver(load, receiver, size)
      },
    )
  } finally {
    receiver.stop()
    for (const { database } of loads.values()) await database.drop()
  }
})

/** A fresh worker's deliveries per second, with so many waiting still when it is done. */
async function deliver(load: WebhookLoad, receiver: Receiver, waiting: number): Promise<number> {
  const { rows } = await load.database.owner.query<{ count: number }>(
    'select count(*)::int as count from delivery',
  )
  await fillEvents(load, waiting + SENT - (rows[0]?.count ?? 0), BODY_BYTES)
  await load.database.owner.query('vacuum analyze')
  const { reached } = await receiver.expect(SENT)
  const worker = await startSender('worker', { load, concurrency: CONCURRENCY })
  await reached
  await worker.stop()
  const received = await receiver.report(load.secrets)
  expect(received.every((event) => event.verified)).toBe(true)
  const [first, last] = [received[0]?.atNs ?? 0n, received[SENT - 1]?.atNs ?? 0n]
  return (SENT * 1e9) / Number(last - first)
}

const PAYING_US = 10
const SCANS = 31

test('finding payments in a block beside the addresses that are watched', async () => {
  const ours = Array.from({ length: PAYING_US }, () => randomBytes(20))
  const block = makeBlock(ours)
  const sizes = sizesUpTo(SIZE_MAX)
  const sets = new Map(sizes.map((size) => [size, setOf(size, ours)]))
  await measureCurve(
    {
      title: 'Finding payments in a full block',
      across: 'addresses watched',
      unit: 'milliseconds a block of 4,200 transactions',
    },
    sizes,
    async (size) => {
      const set = sets.get(size)
      if (set === undefined) return Number.NaN
      const times: number[] = []
      for (let scan = 0; scan < SCANS; scan++) {
        const startedAt = performance.now()
        expect(scanBlock(block, set).outputs).toHaveLength(PAYING_US)
        times.push(performance.now() - startedAt)
      }
      return median(times)
    },
  )
})

test('auditing the books, whatever there is of them', async () => {
  const databases = new Map<number, TestDatabase>()
  const took = new Map<number, number>()
  try {
    const sizes = sizesUpTo(AUDIT_MAX)
    for (const size of sizes) {
      const database = await createTestDatabase()
      databases.set(size, database)
      await seedBooks(database, size)
    }
    await measureCurve(
      {
        title: 'Auditing the books',
        across: 'paid invoices',
        unit: 'milliseconds an invoice, chains left out',
      },
      sizes,
      async (size) => {
        // The largest takes as long as all others together, and is measured once.
        const known = took.get(size)
        if (known !== undefined && size === AUDIT_MAX) return known
        const database = databases.get(size)
        if (database === undefined) return Number.NaN
        const startedAt = performance.now()
        const results = await runAudit(database.owner, [])
        expect(results.filter(({ findings }) => findings.length > 0)).toEqual([])
        const each = (performance.now() - startedAt) / size
        took.set(size, each)
        return each
      },
    )
  } finally {
    for (const database of databases.values()) await database.drop()
  }
})
