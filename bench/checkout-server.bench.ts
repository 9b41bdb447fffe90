import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordTransfers } from '../src/flows/record-transfers.ts'
import { createNotifier } from '../src/postgres/notify.ts'
import type { Tenant } from '../src/postgres/transaction.ts'
import { invoiceToken } from '../src/secrets/checkout-token.ts'
import { openKeyring } from '../src/secrets/keyring.ts'
import { createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { freePort } from '../test/support/free-port.ts'
import { inMempool } from '../test/support/invoice.ts'
import { median, percentile, printFigure, spread } from './support/figure.ts'
import { driveHttp } from './support/http-load.ts'
import { numberOf } from './support/number-of.ts'
import { type Paylink, startPaylink } from './support/paylink.ts'
import { createSignedPool, openNetwork } from './support/signed-pool.ts'

const SECRET_KEY = Buffer.alloc(32, 9)
/** As from so many buyers' networks: one may hold 2,500 pages open. */
const CALLERS = 8
/** Each is a connection of this process and one of the server's: 10,000 need 11,000 open files of both (`ulimit -n`). */
const OPEN_PAGES = numberOf('OPEN_PAGES', 2_000)
const SEEDED_AT_ONCE = 20
/** For the pages that only warm the process up, and for the one that is rendered. */
const SPARE_ADDRESSES = 200
const LITOSHI = 100_000_000
/** Payments a second, one on each page, spread evenly. */
const UPDATES_PER_SECOND = 20
const UPDATES = Math.min(300, OPEN_PAGES)
/** A page hears of a change within this, or the measurement fails. */
const HEARD_MS_MAX = 20_000
const SETTLE_MS = 6_000
const ROUNDS = 3
const ROUND_MS = 4_000
const CLIENTS = [8, 64]

let database: TestDatabase
let folder: string
let port: number
let paylink: Paylink
let tenant: Tenant
let key: string
const keyring = openKeyring(SECRET_KEY)
beforeAll(async () => {
  database = await createTestDatabase()
  folder = await mkdtemp(join(tmpdir(), 'paylink-bench-'))
  port = await freePort()
  paylink = await startPaylink(['api', 'checkout'], {
    DATABASE_URL: database.ownerUrl,
    API_DATABASE_URL: database.urls.api,
    WATCHER_DATABASE_URL: database.urls.watcher,
    DELIVERY_DATABASE_URL: database.urls.delivery,
    SIGNER_DATABASE_URL: database.urls.signer,
    DATA_DIR: folder,
    PORT: String(port),
    SECRET_KEY: SECRET_KEY.toString('hex'),
    OPEN_INVOICES_MAX: '1000000',
    // A live network, which nobody reads here, so that no demo shop is made.
    LIVE_LITECOIN_RPC_URL: 'http://user:password@127.0.0.1:9',
    RATE_LIMIT_TEST: '100000',
  })
  const made = await paylink.createKey()
  key = made.key
  tenant = { merchantId: made.merchantId, livemode: false }
  await openNetwork(database)
  await (await createSignedPool(folder)).fill(database, OPEN_PAGES + SPARE_ADDRESSES)
})
afterAll(async () => {
  await paylink?.stop()
  await database?.drop()
  await rm(folder, { recursive: true, force: true })
})

type Invoice = { readonly id: string; readonly amount: bigint }

async function openInvoice(): Promise<Invoice> {
  const answer = await fetch(`${paylink.baseUrl}/api/v1/invoices`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    },
    body: JSON.stringify({ usd_amount: '49.99', asset: 'LTC' }),
  })
  expect(answer.status).toBe(201)
  const { id, amount } = (await answer.json()) as { id: string; amount: string }
  return { id, amount: BigInt(Math.round(Number(amount) * LITOSHI)) }
}
const pathOf = (invoice: Invoice): string =>
  `/i/${invoiceToken(keyring, { ...tenant, invoiceId: invoice.id })}`

/** Megabytes that the process holds. */
async function residentMb(): Promise<number> {
  const status = await readFile(`/proc/${paylink.pid}/status`, 'utf8')
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024
}

/** An open page: what it hears of its stream, and when. */
class OpenPage {
  readonly invoice: Invoice
  readonly #socket
  #waiting: { state: string; tell: (atMs: number) => void } | null = null
  #tail = ''
  readonly opened: Promise<void>

  constructor(invoice: Invoice, caller: number) {
    this.invoice = invoice
    const localAddress = `127.0.0.${2 + (caller % CALLERS)}`
    this.#socket = connect({ port, host: '127.0.0.1', localAddress, noDelay: true })
    this.#socket.setEncoding('utf8')
    this.#socket.write(`GET ${pathOf(invoice)}/events HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    this.opened = this.hears('awaiting').then(() => {})
    this.#socket.on('data', (chunk: string) => {
      this.#tail = (this.#tail + chunk).slice(-2_000_000)
      const waiting = this.#waiting
      if (waiting === null || !this.#tail.includes(`"state":"${waiting.state}"`)) return
      this.#waiting = null
      this.#tail = ''
      waiting.tell(performance.now())
    })
  }

  /** When the page receives this state. */
  hears(state: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`a page did not hear of ${state}`)), HEARD_MS_MAX)
      this.#waiting = {
        state,
        tell: (atMs) => {
          clearTimeout(timer)
          resolve(atMs)
        },
      }
    })
  }

  close(): void {
    this.#socket.destroy()
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

async function openPages(count: number): Promise<OpenPage[]> {
  const pages: OpenPage[] = []
  while (pages.length < count) {
    const size = Math.min(SEEDED_AT_ONCE, count - pages.length)
    const invoices = await Promise.all(Array.from({ length: size }, openInvoice))
    const opened = invoices.map((invoice, index) => new OpenPage(invoice, index))
    await Promise.all(opened.map((page) => page.opened))
    pages.push(...opened)
  }
  return pages
}

test(`${OPEN_PAGES} open pages on one process: memory, and how soon they hear of a payment`, async () => {
  // What the first pages load is no page's own.
  const first = await openPages(100)
  for (const page of first) page.close()
  await pause(SETTLE_MS)
  const idleMb = await residentMb()
  const pages = await openPages(OPEN_PAGES)
  await pause(SETTLE_MS)
  const openMb = await residentMb()
  const notifier = createNotifier(database.pools.watcher)
  const delays: number[] = []
  const startedAt = performance.now()
  const updates = pages.slice(0, UPDATES).map(async (page, index) => {
    await pause(startedAt + (index * 1_000) / UPDATES_PER_SECOND - performance.now())
    const { id: invoiceId, amount } = page.invoice
    const heard = page.hears('detected')
    const fact = inMempool(invoiceId, amount, { firstSeenMs: Date.now() })
    await recordTransfers(
      { pool: database.pools.watcher, clock: () => new Date() },
      { tenant, invoiceId, facts: [fact], tipHeight: 100 },
    )
    const committedAt = performance.now()
    notifier.invoiceChanged(invoiceId)
    delays.push((await heard) - committedAt)
  })
  await Promise.all(updates)
  for (const page of pages) page.close()
  await notifier.close()
  expect(delays).toHaveLength(UPDATES)
  printFigure({
    name: `Memory of ${OPEN_PAGES} open checkouts with live updates, above idle`,
    target: '≤ 100 MB for 2,000',
    measured: `${(openMb - idleMb).toFixed(0)} MB`,
    detail: `${(((openMb - idleMb) * 1024) / OPEN_PAGES).toFixed(1)} KB a page: ${idleMb.toFixed(0)} MB idle, ${openMb.toFixed(0)} MB with them`,
  })
  printFigure({
    name: `Commit → shown on the open page, p95, with ${OPEN_PAGES} open and ${UPDATES_PER_SECOND} payments a second`,
    target: '≤ 500 ms',
    measured: `${percentile(delays, 0.95).toFixed(0)} ms`,
    detail: `p50 ${median(delays).toFixed(0)} ms, p99 ${percentile(delays, 0.99).toFixed(0)} ms, ${UPDATES} updates`,
  })
})

test.each(CLIENTS)(
  'rendering a page against the JSON route and an empty Hono, %i clients',
  async (connections) => {
    const invoice = await openInvoice()
    const hello = await startHello()
    const get = (path: string, head = '') => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${head}\r\n`
    const page = get(pathOf(invoice))
    const json = get(`/api/v1/invoices/${invoice.id}`, `authorization: Bearer ${key}\r\n`)
    const drive = (request: string, at = port) =>
      driveHttp({ port: at, connections, durationMs: ROUND_MS, request: () => request })
    await drive(page)
    await drive(json)
    const ratios: { readonly json: number; readonly hello: number }[] = []
    const rates: number[] = []
    const latenciesMs: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const bare = await drive(get('/'), hello.port)
      const plain = await drive(json)
      const rendered = await drive(page)
      for (const { statuses } of [bare, plain, rendered]) expect([...statuses.keys()]).toEqual([200])
      ratios.push({ json: rendered.perSecond / plain.perSecond, hello: rendered.perSecond / bare.perSecond })
      rates.push(rendered.perSecond)
      latenciesMs.push(...rendered.latenciesMs)
    }
    hello.stop()
    printFigure({
      name: `Checkout pages a second ÷ the JSON route of the same invoice, ${connections} clients`,
      target: '≥ 0.25',
      measured: median(ratios.map((ratio) => ratio.json)).toFixed(2),
      detail:
        `spread ${spread(ratios.map((ratio) => ratio.json))}; ${median(rates).toFixed(0)} pages/s, uncompressed, ` +
        `p50 ${median(latenciesMs).toFixed(0)} ms, p99 ${percentile(latenciesMs, 0.99).toFixed(0)} ms; ` +
        `÷ a Hono that says hello ${median(ratios.map((ratio) => ratio.hello)).toFixed(2)}, ` +
        `spread ${spread(ratios.map((ratio) => ratio.hello))}`,
    })
  },
)

/** Hono on the same server library, in a process of its own, that answers a few bytes. */
async function startHello(): Promise<{ port: number; stop: () => void }> {
  const child = fork(new URL('./support/hello-process.mjs', import.meta.url))
  const [message] = await once(child, 'message')
  return { port: (message as { port: number }).port, stop: () => child.disconnect() }
}
