import { afterAll, beforeAll, expect, test } from 'vitest'
import { latestMigration } from '../../src/db/migrate.ts'
import { createHealthApp } from '../../src/http/health.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { silentLog } from '../support/webhook-fixtures.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const ready = async (migration: number) => {
  const app = createHealthApp({
    pool: database.pools.api,
    clock: () => new Date(),
    log: silentLog,
    prices: null,
    migration,
  })
  const response = await app.request('/readyz')
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

test('a process is not ready on a database that lacks its migrations', async () => {
  const latest = await latestMigration()
  expect(await ready(latest + 1)).toMatchObject({
    status: 'not_ready',
    database: `the database has migration ${latest} and this program needs ${latest + 1}: run paylink migrate`,
  })
})
