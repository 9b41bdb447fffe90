import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { askApi, makeDataDir, makeKey, startRoles } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

/** Roles on hosts whose clocks are wrong. */

const HOURS_2 = 2 * 3_600_000
const PAID_MS_MAX = 120_000
/** A watcher looks at deadlines at least this often while something is open. */
const LOOKED_MS = 5_000

const SLACK_MS = 1_000

/** What a shop's rules say by default. */
const WINDOW_MS = 60 * 60_000

type InvoiceAnswer = { readonly id: string; readonly status: string; readonly expires_at: string }

let database: TestDatabase
let place: Awaited<ReturnType<typeof makeDataDir>>
beforeEach(async () => {
  database = await createTestDatabase()
  place = await makeDataDir()
})
afterEach(async () => {
  await place.remove()
  await database.drop()
})

/** Node's own clock, so much ahead in the whole process. */
const ahead = (ms: number) => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(`
    const now = Date.now
    globalThis.Date = class extends Date {
      constructor(...given) { super(...(given.length === 0 ? [now() + ${ms}] : given)) }
      static now() { return now() + ${ms} }
    }`)}`,
})

test.each([
  { watcher: 'ahead', watcherMs: HOURS_2, site: 'behind', siteMs: -HOURS_2 },
  { watcher: 'behind', watcherMs: -HOURS_2, site: 'ahead', siteMs: HOURS_2 },
])(
  'with a watcher two hours $watcher and a site two hours $site nothing expires early',
  async ({ watcherMs, siteMs }) => {
    const port = String(await freePort())
    const shared = { DATA_DIR: place.dataDir, PORT: port }
    const started = await Promise.all([
      startRoles(['signer'], { ...shared, SIGNER_DATABASE_URL: database.urls.signer }),
      startRoles(['sandbox'], shared),
      startRoles(['watcher'], {
        ...shared,
        ...ahead(watcherMs),
        WATCHER_DATABASE_URL: database.urls.watcher,
      }),
      startRoles(['api', 'checkout'], { ...shared, ...ahead(siteMs), API_DATABASE_URL: database.urls.api }),
    ])
    try {
      const owner = { DATA_DIR: place.dataDir, DATABASE_URL: database.ownerUrl }
      const key = await makeKey(owner)
      const ask = async (method: string, path: string, body?: object) => {
        const answer = await askApi(`http://127.0.0.1:${port}/api/v1${path}`, key, method, body)
        return { ...answer, body: answer.body as InvoiceAnswer }
      }
      let id = ''
      await until(
        async () => {
          const invoice = await ask('POST', '/invoices', { usd_amount: '7.00', asset: 'LTC' })
          id = invoice.body.id
          return invoice.status === 201
        },
        { timeoutMs: PAID_MS_MAX },
      )
      const { expires_at } = (await ask('GET', `/invoices/${id}`)).body
      expect(new Date(expires_at).getTime()).toBeGreaterThan(Date.now())
      // The database's clock is read to a few milliseconds.
      expect(new Date(expires_at).getTime()).toBeLessThanOrEqual(Date.now() + WINDOW_MS + SLACK_MS)
      await pause(LOOKED_MS)
      expect((await ask('GET', `/invoices/${id}`)).body.status).toBe('awaiting_payment')
      expect((await ask('POST', `/test/invoices/${id}/pay`, { scenario: 'exact' })).status).toBe(200)
      await until(async () => (await ask('GET', `/invoices/${id}`)).body.status === 'paid', {
        timeoutMs: PAID_MS_MAX,
      })
    } finally {
      await Promise.all(started.map((role) => role.stop()))
    }
  },
)
