import { afterEach, beforeEach, expect, test } from 'vitest'
import { Busy } from '../../src/core/busy.ts'
import { storePaymentRules } from '../../src/db/invoices/payment-rules.ts'
import { createPageTurns } from '../../src/http/public/page-turns.ts'
import { type HttpServer, startHttpServer } from '../../src/http/server.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { openCompat } from '../../src/roles/compat.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

/** What floods a translation leaves the API to everybody else. */

const FLOOD = 60
const CALLS = 20

let api: TestApi
let merchant: TestMerchant
let servers: HttpServer[]
beforeEach(async () => {
  api = await createTestApi()
  servers = []
  merchant = await api.addMerchant()
  const tenant = { merchantId: merchant.id, livemode: false }
  const rules = { document: { default_asset: 'LTC' }, now: api.time.now }
  await withTransaction(api.deps.pool, tenant, (tx) => storePaymentRules(tx, tenant, rules))
})
afterEach(async () => {
  for (const server of servers) await server.stop(() => {})
  await api.drop()
})

async function serve(changes: { redirectsPerSecond?: number } = {}): Promise<string> {
  const port = await freePort()
  const own = { name: 'api', owns: () => true, fetch: (request: Request) => api.app.fetch(request) }
  const parts = [...openCompat({ ...api.deps, ...changes }, ['btcpay'], own), own]
  servers.push(await startHttpServer({ host: '127.0.0.1', port, parts, log: api.deps.log }))
  return `http://127.0.0.1:${port}/compat/btcpay/${merchant.id}`
}

/** Floods while the table is held, and asks our own API for another merchant meanwhile. */
async function floodWhileHeld(table: string, ask: () => Promise<Response>): Promise<readonly Response[]> {
  const other = await api.addMerchant()
  const holder = await api.database.owner.connect()
  const waiting = async () => {
    const { rows } = await api.database.owner.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows[0]?.count ?? 0
  }
  let asked: Promise<Response>[] = []
  try {
    await holder.query(`begin; lock table ${table} in access exclusive mode`)
    asked = Array.from({ length: FLOOD }, ask)
    await until(async () => (await waiting()) >= 1, { what: 'requests waited for the table' })
    // The first ones may be answered before the whole flood is in.
    for (let count = 0; count < CALLS; count++)
      expect((await api.call('GET', '/payment-links', { key: other.testKey })).status).toBe(200)
    await holder.query('rollback')
    return await Promise.all(asked)
  } finally {
    // Closes the connection, which lets go of the table in every case.
    holder.release(true)
    await Promise.allSettled(asked)
  }
}

async function createInvoice(base: string): Promise<string> {
  const answer = await fetch(`${base}/api/v1/stores/${merchant.id}/invoices`, {
    method: 'POST',
    headers: { authorization: `token ${merchant.testKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ amount: '25.00', currency: 'USD' }),
  })
  const { id } = (await answer.json()) as { id: string }
  return id
}

test('redirects that wait for the database leave connections to the API', async () => {
  const base = await serve({ redirectsPerSecond: 1_000 })
  const id = await createInvoice(base)
  const answers = await floodWhileHeld('invoice', () => fetch(`${base}/i/${id}`, { redirect: 'manual' }))
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([302]))
})

test('requests with a key that wait for the merchant leave connections to the API', async () => {
  const base = await serve()
  const headers = { authorization: `token ${merchant.testKey}` }
  const answers = await floodWhileHeld('merchant', () =>
    fetch(`${base}/api/v1/stores/${merchant.id}/invoices`, { headers }),
  )
  for (const { status } of answers) expect([200, 429]).toContain(status)
})

test('a caller is led to ten invoices at once, and to more in a moment', async () => {
  const base = await serve()
  const id = await createInvoice(base)
  const asked = Array.from({ length: FLOOD }, (_, number) =>
    fetch(number % 2 === 0 ? `${base}/i/${id}` : `${base}/invoice?id=${id}`, { redirect: 'manual' }),
  )
  const answers = await Promise.all(asked)
  expect(answers.filter(({ status }) => status === 302).length).toBeGreaterThanOrEqual(10)
  const refused = answers.filter(({ status }) => status !== 302)
  expect(refused.length).toBeGreaterThan(0)
  for (const answer of refused) expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1'])
})

test('a redirect whose turn does not come is refused for a moment', async () => {
  const own = { name: 'api', owns: () => true, fetch: (request: Request) => api.app.fetch(request) }
  const inTurn = () => Promise.reject(new Busy('too much waits already'))
  const [part] = openCompat({ ...api.deps, inTurn }, ['btcpay'], own)
  const path = `/compat/btcpay/${merchant.id}/i/inv_${'0'.repeat(26)}`
  const answer = await part?.fetch(new Request(`http://x${path}`))
  expect([answer?.status, answer?.headers.get('retry-after')]).toEqual([503, '1'])
})

test('pages that take all turns keep no shop from its translated API', async () => {
  const own = { name: 'api', owns: () => true, fetch: (request: Request) => api.app.fetch(request) }
  const inTurn = createPageTurns()
  let letGo = () => {}
  const held = new Promise<void>((resolve) => {
    letGo = resolve
  })
  const pages = Promise.allSettled(Array.from({ length: FLOOD }, () => inTurn(() => held)))
  try {
    const [part] = openCompat({ ...api.deps, inTurn }, ['btcpay'], own)
    const headers = { authorization: `token ${merchant.testKey}` }
    const url = `http://x/compat/btcpay/${merchant.id}/api/v1/stores/${merchant.id}/invoices`
    expect((await part?.fetch(new Request(url, { headers })))?.status).toBe(200)
  } finally {
    letGo()
    await pages
  }
})
