import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeDataDir, runProgram } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

let database: TestDatabase
let place: Awaited<ReturnType<typeof makeDataDir>>
beforeAll(async () => {
  database = await createTestDatabase()
  place = await makeDataDir()
})
afterAll(async () => {
  await place.remove()
  await database.drop()
})

test('a command whose DATA_DIR is not there makes no key, and says so in one line', async () => {
  const nowhere = `${place.dataDir}-not-made`
  const { code, stderr } = await runProgram(['access', 'check'], {
    DATABASE_URL: database.ownerUrl,
    DATA_DIR: nowhere,
  })
  expect(code).toBe(2)
  expect(stderr).toBe(
    `paylink: DATA_DIR ${nowhere} is not there: set it to the folder of the installation, or set SECRET_KEY\n`,
  )
})

test('a command whose database goes away meanwhile says so in one line, with what to do', async () => {
  const owner = await database.owner.connect()
  await owner.query('begin; lock table api_key in access exclusive mode')
  const env = {
    DATABASE_URL: database.ownerUrl,
    DATA_DIR: place.dataDir,
    SECRET_KEY: randomBytes(32).toString('hex'),
  }
  const running = runProgram(['access', 'check'], env)
  await until(async () => {
    const { rowCount } = await database.owner.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rowCount === 1
  })
  const { code, stderr } = await running
  await owner.query('rollback')
  owner.release()
  expect(code).toBe(1)
  expect(stderr).toMatch(/^paylink: the database went away \(.+\): run the command again once it is there\n$/)
})
