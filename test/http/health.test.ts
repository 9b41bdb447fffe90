import { afterAll, beforeAll, expect, test } from 'vitest'
import { createHealthApp } from '../../src/http/public/health.ts'
import { latestMigration } from '../../src/postgres/migrate.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { silentLog } from '../support/webhook-fixtures.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const openApp = (migration: number) =>
  createHealthApp({
    pool: database.pools.api,
    clock: () => new Date(),
    log: silentLog,
    prices: null,
    baseUrl: 'https://pay.example.com',
    migration,
  })
const ready = async (migration: number) => {
  const response = await openApp(migration).request('/readyz')
  return { status: response.status, ...(await response.json()) }
}

test('a process goes on serving while a later release has migrated its database, and says so', async () => {
  const latest = await latestMigration()
  expect(await ready(latest)).toMatchObject({ status: 'ready', database: 'ok' })
  expect(await ready(latest - 1)).toMatchObject({
    status: 'ready',
    database: `the database has migration ${latest} and this program knows ${latest - 1}: start the newer version`,
  })
})

test('what a network has is told anybody by its kind, and names no invoice, address or host', async () => {
  const latest = await latestMigration()
  const reason = `what was read for invoice inv_1 at 0x12 cannot be recorded (10.0.0.7 refuses)`
  const reasonOf = async (status: string, why: string | null) => {
    await database.owner.query(
      `insert into network_state (network, status, reason, updated_at) values ('litecoin-test', $1, $2, now())
       on conflict (network) do update set status = $1, reason = $2`,
      [status, why],
    )
    return (await ready(latest)).networks['litecoin-test'].reason
  }
  for (const status of ['halted', 'unavailable', 'syncing', 'ok']) {
    expect(await reasonOf(status, reason), status).toMatch(/^[A-Z][a-z', ]+\.( [A-Z][a-z', ]+\.)?$/)
    expect(await reasonOf(status, null), status).toBeNull()
  }
})

test('a process is not ready on a database that lacks its migrations', async () => {
  const latest = await latestMigration()
  expect(await ready(latest + 1)).toMatchObject({
    status: 'not_ready',
    database: `the database has migration ${latest} and this program needs ${latest + 1}: run paylink migrate`,
  })
})

test('health answers are like every other: a request id, JSON in UTF-8, and 405 for other methods', async () => {
  const app = openApp(await latestMigration())
  for (const path of ['/healthz', '/readyz']) {
    for (const method of ['GET', 'HEAD', 'POST']) {
      const answer = await app.request(path, { method })
      expect(answer.headers.get('request-id'), `${method} ${path}`).toMatch(/^req_[0-9a-f]{32}$/)
      expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(answer.status).toBe(method === 'POST' ? 405 : 200)
      if (method !== 'POST') continue
      expect(answer.headers.get('allow')).toBe('GET, HEAD')
      expect(await answer.json()).toMatchObject({
        error: {
          type: 'invalid_request_error',
          code: 'method_not_allowed',
          request_id: answer.headers.get('request-id'),
        },
      })
    }
  }
})
