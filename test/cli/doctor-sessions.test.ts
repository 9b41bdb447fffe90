import type pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { inspectDatabase } from '../../src/doctor/inspect-database.ts'
import type { Pool } from '../../src/postgres/pool.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.drop())

const linesOf = async (pool: Pool) =>
  (await inspectDatabase(loadConfig({ DATABASE_URL: database.ownerUrl }), pool)).map(
    ({ kind, text }) => `${kind}: ${text}`,
  )

/** A pool whose connections share one session, as a pooler in transaction mode gives them out. */
function sharing(client: pg.PoolClient): Pool {
  const borrowed = { query: client.query.bind(client), release: () => {} }
  return new Proxy(database.owner, {
    get: (pool, name) => {
      if (name === 'connect') return async () => borrowed
      const value: unknown = Reflect.get(pool, name)
      return typeof value === 'function' ? value.bind(pool) : value
    },
  })
}

test('the doctor finds out a pooler that gives out connections by the transaction', async () => {
  const fault = expect.stringMatching(/^fault: A pooler gives out .* set it to session mode/)
  expect(await linesOf(database.owner)).not.toContainEqual(fault)
  const client = await database.owner.connect()
  try {
    expect(await linesOf(sharing(client))).toContainEqual(fault)
  } finally {
    client.release()
  }
})
