import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Invoice } from '../src/core/invoice/types.ts'
import { recordTransfers } from '../src/flows/record-transfers.ts'
import { createNotifier } from '../src/postgres/notify.ts'
import type { Tenant } from '../src/postgres/transaction.ts'
import { invoiceToken } from '../src/secrets/checkout-token.ts'
import { openKeyring } from '../src/secrets/keyring.ts'
import { createTestDatabase, type TestDatabase } from '../test/support/database.ts'
import { inMempool } from '../test/support/invoice.ts'
import { freePort } from '../test/support/postgres-server.ts'
import { seedInvoice } from '../test/support/seed.ts'
import { median, percentile, printFigure, spread } from './support/figure.ts'
import { driveHttp } from './support/http-load.ts'
import { type Paylink, startPaylink } from './support/paylink.ts'

const SECRET_KEY = Buffer.alloc(32, 9)
const OPEN_PAGES = 2_000
const SEEDED_AT_ONCE = 20
/** Payments a second, one on each page, spread evenly. */
const UPDATES_PER_SECOND = 20
const UPDATES = 300
/** A page hears of a change within this, or the measurement fails. */
const HEARD_MS_MAX = 20_000
const SETTLE_MS = 6_000
const ROUNDS = 3
const ROUND_MS = 4_000
const CLIENTS = 8

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
    // A live network, which nobody reads here, so that no demo shop is made.
    LIVE_LITECOIN_RPC_URL: 'http://user:password@127.0.0.1:9',
    RATE_LIMIT_TEST: '100000',
  })
  const made = await paylink.createKey()
  key = made.key
  tenant = { merchantId: made.merchantId, livemode: false }
})
afterAll(async () => {
  await paylink?.stop()
  await database?.drop()
  await rm(folder, { recursive: true, force: true })
})

const openInvoice = (): Promise<Invoice> =>
  seedInvoice(database, tenant, { createdAtMs: Date.now(), expiresAtMs: Date.now() + 3_600_000 })
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

  constructor(invoice: Invoice) {
    this.invoice = invoice
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
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
    const opened = invoices.map((invoice) => new OpenPage(invoice))
    await Promise.all(opened.map((page) => page.opened))
    pages.push(...opened)
  }
  return pages
}

test('2,000 open pages on one process: memory, and how soon they hear of a payment', async () => {
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
    name: 'Memory of 2,000 open checkouts with live updates, above idle',
    target: '≤ 100 MB',
    measured: `${(openMb - idleMb).toFixed(0)} MB`,
    detail: `${idleMb.toFixed(0)} MB idle, ${openMb.toFixed(0)} MB with 2,000 pages`,
  })
  printFigure({
    name: 'Commit → told on the open page, p95, with 2,000 open and 20 payments a second',
    target: '≤ 500 ms',
    measured: `${percentile(delays, 0.95).toFixed(0)} ms`,
    detail: `p50 ${median(delays).toFixed(0)} ms, ${UPDATES} updates`,
  })
})

test('rendering a page against the JSON route of the same invoice', async () => {
  const invoice = await openInvoice()
  const page = `GET ${pathOf(invoice)} HTTP/1.1\r\nhost: localhost\r\n\r\n`
  const json = `GET /api/v1/invoices/${invoice.id} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n\r\n`
  const drive = (request: string) =>
    driveHttp({ port, connections: CLIENTS, durationMs: ROUND_MS, request: () => request })
  await drive(page)
  await drive(json)
  const ratios: number[] = []
  const rates: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const plain = await drive(json)
    const rendered = await drive(page)
    expect([...plain.statuses.keys(), ...rendered.statuses.keys()]).toEqual([200, 200])
    ratios.push(rendered.perSecond / plain.perSecond)
    rates.push(rendered.perSecond)
  }
  printFigure({
    name: 'Checkout pages a second ÷ the JSON route of the same invoice',
    target: '≥ 0.25',
    measured: median(ratios).toFixed(2),
    detail: `spread ${spread(ratios)}; ${median(rates).toFixed(0)} pages/s, ${CLIENTS} clients, uncompressed`,
  })
})
