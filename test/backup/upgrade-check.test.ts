import { readdir } from 'node:fs/promises'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { latestMigration, migrate } from '../../src/postgres/migrate.ts'
import { makeDataDir, runProgram } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

let database: TestDatabase
let place: Awaited<ReturnType<typeof makeDataDir>>
const BEFORE = 420
beforeAll(async () => {
  database = await createTestDatabase(undefined, 'template1')
  place = await makeDataDir()
  await migrate(database.ownerUrl, { through: BEFORE })
  await query(
    `insert into merchant (id, name, email, created_at) values ('mer_1', 'Shop', 'a@b.example', now())`,
  )
})
afterAll(async () => {
  await database.drop()
  await place.remove()
})

async function query(sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: database.ownerUrl })
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows
  } finally {
    await client.end()
  }
}

const check = () =>
  runProgram(['upgrade', '--check'], { DATA_DIR: place.dataDir, DATABASE_URL: database.ownerUrl })
const version = 'select max(version)::int as version, count(*)::int as applied from schema_migration'

test('an upgrade is tried on a copy: each migration with its time, and the database as it was', async () => {
  await query('create table notes_of_the_operator (id integer primary key)')
  const before = await query(version)
  const checked = await check()
  expect(checked, checked.stderr).toMatchObject({ code: 0 })
  expect(checked.stdout).toContain(`from migration ${BEFORE} to ${await latestMigration()}`)
  expect(checked.stdout).toMatch(/^ +\d+\.\d\d s {2}0421_events_show_own_addresses\.sql$/m)
  expect(checked.stdout).toContain('Nothing was changed.')
  expect(await query(version)).toEqual(before)
  expect(await readdir(place.dataDir)).toEqual([])
})

test('a database that is up to date needs no copy', async () => {
  await migrate(database.ownerUrl)
  const checked = await check()
  expect(checked).toMatchObject({ code: 0, stderr: '' })
  expect(checked.stdout).toContain('an upgrade changes nothing in it')
})
