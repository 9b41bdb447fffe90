import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, makeDataDir, startApp } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { type OwnPostgres, startOwnPostgres } from '../support/postgres-server.ts'

const LONG = process.env.LONG === '1'
const ROUNDS = LONG ? Number(process.env.LONG_RESTARTS ?? 25) : 1
const TIMEOUT_MS = LONG ? 3_600_000 : 180_000
/** Enough that invoices of a shop are written in groups. */
const CLIENTS = 24
const BETWEEN_MS = 1_500
const REQUEST_MS_MAX = 20_000

let server: OwnPostgres
let database: TestDatabase
let place: Awaited<ReturnType<typeof makeDataDir>>
let app: App
beforeAll(async () => {
  server = await startOwnPostgres()
  database = await createTestDatabase(server.ownerUrl)
  place = await makeDataDir()
  app = await start(await freePort())
})
afterAll(async () => {
  await app?.stop()
  await place?.remove()
  await database?.drop()
  await server?.stop()
})

const start = (port: number): Promise<App> =>
  startApp({
    dataDir: place.dataDir,
    port,
    env: { DATABASE_URL: database.ownerUrl, RATE_LIMIT_TEST: '5000', OPEN_INVOICES_MAX: '1000000' },
  })

/** The invoice that the shop has for a key, whatever dies meanwhile; a repeat is answered as the first request was. */
async function insist(idempotencyKey: string): Promise<string> {
  for (;;) {
    const answer = await fetch(`${app.baseUrl}/api/v1/invoices`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${app.apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': idempotencyKey,
      },
      body: JSON.stringify({ usd_amount: '5.00', asset: 'LTC', external_reference: idempotencyKey }),
      signal: AbortSignal.timeout(REQUEST_MS_MAX),
    }).catch(() => null)
    const text = await answer?.text().catch(() => null)
    if (answer?.status === 201 && typeof text === 'string') return JSON.parse(text).id
    // In flight, no database, no process: to be asked again. Anything else is a fault.
    if (answer !== null && typeof text === 'string') expect([409, 429, 503, 201]).toContain(answer.status)
    await pause(50)
  }
}

test('a PostgreSQL that crashes and an API that is killed under load lose and double no invoice', {
  timeout: TIMEOUT_MS,
}, async () => {
  const sold = new Map<string, string>()
  let isSelling = true
  const clients = Array.from({ length: CLIENTS }, async () => {
    while (isSelling) {
      const key = `order-${randomUUID()}`
      // Two at once, as from a shop that did not wait long enough.
      const [id, again] = await Promise.all([insist(key), insist(key)])
      expect(again).toBe(id)
      sold.set(key, id)
    }
  })
  for (let round = 0; round < ROUNDS; round += 1) {
    await pause(BETWEEN_MS)
    await server.restart('immediate')
    await pause(BETWEEN_MS)
    await app.kill()
    app = await start(Number(new URL(app.baseUrl).port))
  }
  await pause(BETWEEN_MS)
  isSelling = false
  await Promise.all(clients)
  const { rows } = await database.owner.query<{ id: string; key: string }>(
    `select id, external_reference as key from invoice where external_reference like 'order-________-%'`,
  )
  const kept = new Map(rows.map(({ key, id }) => [key, id]))
  expect(rows.length).toBe(kept.size)
  expect([...sold].filter(([key, id]) => kept.get(key) !== id)).toEqual([])
  // What nobody has an answer to was still to be asked again: each client has at most its last.
  expect(kept.size).toBe(sold.size)
  const { rows: doubled } = await database.owner.query(
    'select address from deposit_address where invoice_id is not null group by address having count(*) > 1',
  )
  expect(doubled).toEqual([])
  for (const [key, id] of [...sold].slice(-5)) expect(await insist(key)).toBe(id)
  const audit = await app.command('audit')
  expect(audit.code, audit.stdout + audit.stderr).toBe(0)
})
