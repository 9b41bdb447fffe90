import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { askApi, makeDataDir, makeKey, runProgram, startApp, startRoles } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

/** Every role by itself, and everything on an external PostgreSQL. */

const PAID_MS_MAX = 120_000
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

test('each role in a process of its own, with its own login alone, takes a payment with the others', async () => {
  const [port, OPERATOR_PORT] = [String(await freePort()), String(await freePort())]
  const shared = { DATA_DIR: place.dataDir, PORT: port }
  const started = await Promise.all([
    startRoles(['signer'], { ...shared, SIGNER_DATABASE_URL: database.urls.signer }),
    startRoles(['sandbox'], shared),
    startRoles(['watcher'], { ...shared, WATCHER_DATABASE_URL: database.urls.watcher }),
    startRoles(['watcher'], { ...shared, WATCHER_DATABASE_URL: database.urls.watcher }),
    startRoles(['delivery'], { ...shared, DELIVERY_DATABASE_URL: database.urls.delivery }),
    startRoles(['api', 'checkout'], { ...shared, OPERATOR_PORT, API_DATABASE_URL: database.urls.api }),
  ])
  const owner = { DATA_DIR: place.dataDir, DATABASE_URL: database.ownerUrl }
  const key = await makeKey(owner)
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await askApi(`http://127.0.0.1:${port}/api/v1${path}`, key, method, body)
    return { ...answer, body: answer.body as { id: string; status: string } }
  }
  let id = ''
  await until(
    async () => {
      const made = await ask('POST', '/invoices', { usd_amount: '7.00', asset: 'LTC' })
      id = made.body.id
      return made.status === 201
    },
    { timeoutMs: PAID_MS_MAX },
  )
  expect((await ask('POST', `/test/invoices/${id}/pay`, { scenario: 'exact' })).status).toBe(200)
  await until(async () => (await ask('GET', `/invoices/${id}`)).body.status === 'paid', {
    timeoutMs: PAID_MS_MAX,
  })

  expect(await Promise.all(started.map((role) => role.stop()))).toEqual([0, 0, 0, 0, 0, 0])
  for (const role of started) expect(role.stderr()).not.toMatch(/"level":"(error|fatal)"/)
  expect((await runProgram(['audit'], owner)).code).toBe(0)
})

test('a role without a database says which variable it needs', async () => {
  const env = { DATA_DIR: place.dataDir, API_DATABASE_URL: database.urls.api }
  const { code, stderr } = await runProgram(['start', 'watcher'], env)
  expect(stderr).toMatch(
    /^paylink: the role watcher has no database: set DATABASE_URL, or WATCHER_DATABASE_URL/,
  )
  expect(code).toBe(1)
})

test('a role refuses a database that was not brought up to date, and says how to do it', async () => {
  const env = { DATA_DIR: place.dataDir, API_DATABASE_URL: database.urls.api }
  await database.owner.query('delete from schema_migration where version > 1')
  const { code, stderr } = await runProgram(['start', 'api'], env)
  expect(stderr).toMatch(
    /^paylink: API_DATABASE_URL leads to a database at migration 1 of \d+: run paylink migrate/,
  )
  expect(code).toBe(1)
})

test('the whole sandbox runs on a PostgreSQL of one’s own, and makes no server beside it', async () => {
  const app = await startApp({ ...place, env: { DATABASE_URL: database.ownerUrl } })
  const made = await app.api('POST', '/api/v1/invoices', { usd_amount: '7.00', asset: 'LTC' })
  expect(made.status).toBe(201)
  expect(await app.stop()).toBe(0)
  await expect(access(join(place.dataDir, 'postgres'))).rejects.toThrow('ENOENT')
})
