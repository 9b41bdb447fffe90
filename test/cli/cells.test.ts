import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { runCommandLine } from '../../src/cli/command-line.ts'
import { runProgram } from '../support/app.ts'
import { createTestDatabase, type TestDatabase } from '../support/database.ts'

/** The operator's commands of the directory of cells, on an empty database. */

let database: TestDatabase
let env: { readonly [name: string]: string }
beforeAll(async () => {
  database = await createTestDatabase(inject('postgresUrl'), 'template1')
  env = { DIRECTORY_DATABASE_URL: database.ownerUrl, DIRECTORY_KEY: '11'.repeat(32) }
})
afterAll(async () => {
  const { rows } = await database.owner.query<{ login: string }>(
    `select rolname as login from pg_roles where rolname like current_database() || '_cell_%'`,
  )
  for (const { login } of rows) await database.owner.query(`drop owned by ${login}; drop role ${login}`)
  await database.drop()
})

const run = async (...args: string[]) => {
  const { code, stdout, stderr } = await runProgram(['cells', ...args], env)
  return { code, stdout: stdout.trim(), stderr: stderr.trim() }
}

test('cells are added with a login of their own, listed, drained and opened again', async () => {
  expect((await run('list')).stdout).toBe('No cells. Add one with paylink cells add 0 --room 33000.')
  const [added, zero] = await Promise.all([
    run('add', '3', '--room', '20', '--json'),
    run('add', '0', '--room', '5'),
  ])
  expect(JSON.parse(added.stdout)).toMatchObject({ number: 3, tag: '03', state: 'open', room: 20 })
  expect(zero.stdout).toMatch(/^postgresql:\/\/paylink_test_[0-9a-f]+_cell_0:/)
  expect((await run('list')).stdout.split('\n')).toEqual([
    '00  cell 0  open  0/5 merchants  never reported',
    '03  cell 3  open  0/20 merchants  never reported',
  ])
  expect((await run('drain', '3')).stdout).toContain('cell 3 takes no new accounts')
  const row = { number: 3, tag: '03', state: 'draining', room: 20, merchants: 0, reported_at: null }
  expect(JSON.parse((await run('list', '--json')).stdout).cells).toContainEqual(row)
  const again = await run('add', '3', '--room', '30')
  expect([again.stdout, again.stderr]).toEqual([
    '',
    'paylink: cell 3 is open, with room for 30 merchants; its login stays as it was',
  ])
  await expectOwnRowsOnly(JSON.parse(added.stdout).database_url)
})

async function expectOwnRowsOnly(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const insert = (cell: number) =>
    client.query('insert into person_cell (lookup, cell, is_verified) values ($1, $2, true)', [
      Buffer.alloc(32),
      cell,
    ])
  await insert(3)
  await expect(insert(0)).rejects.toThrow('row-level security')
  await expect(client.query(`update cell set state = 'open'`)).rejects.toThrow('permission denied')
  await expect(client.query(`update person_cell set since = '1999-01-01'`)).rejects.toThrow(
    'permission denied',
  )
  const others = await client.query('update cell set merchants = 7, reported_at = now() where number = 0')
  expect(others.rowCount).toBe(0)
  await client.end()
}

test('a login counts in the directory that it was made for, and none is cut short to that of another cell', async () => {
  const other = await createTestDatabase(inject('postgresUrl'), 'template1')
  const added = await runProgram(['cells', 'add', '3', '--room', '20'], {
    ...env,
    DIRECTORY_DATABASE_URL: other.ownerUrl,
  })
  await run('add', '3', '--room', '20')
  const url = new URL(added.stdout.trim())
  const { username } = url
  url.pathname = new URL(database.ownerUrl).pathname
  const client = new pg.Client({ connectionString: url.href })
  await client.connect()
  expect((await client.query('select from cell')).rowCount).toBe(0)
  await expect(
    client.query('insert into person_cell (lookup, cell, is_verified) values ($1, 3, true)', [
      Buffer.alloc(32, 1),
    ]),
  ).rejects.toThrow('row-level security')
  await client.end()
  await other.owner.query(`drop owned by ${username}; drop role ${username}`)
  await other.drop()

  const long = `paylink_test_${'d'.repeat(43)}`
  await database.owner.query(`create database ${long}`)
  const at = new URL(database.ownerUrl)
  at.pathname = long
  const refused = await runProgram(['cells', 'add', '12', '--room', '20'], {
    ...env,
    DIRECTORY_DATABASE_URL: at.href,
  })
  await database.owner.query(`drop database ${long} with (force)`)
  expect(refused.stderr).toContain('the name of the directory’s database is too long')
})

test('the lines of the map are those that HAProxy reads, and each mistake names its remedy', async () => {
  const lines: string[] = []
  const output = { line: (text: string) => lines.push(text), problem: (text: string) => lines.push(text) }
  const here = async (...args: string[]) => {
    const code = await runCommandLine(['node', 'paylink', 'cells', ...args], output)
    return [code, lines.splice(0).join('|')]
  }
  expect(await here('map', '3')).toEqual([0, '03 cell_03|8006 cell_03'])
  expect(await here('map', '1023')).toEqual([0, 'zz cell_zz|87FE cell_zz'])
  expect(await here('map', '0')).toEqual([2, expect.stringContaining('Cell 0 needs no line')])
  expect(await here('map', '1024')).toEqual([2, '1024 is no cell: give its number, from 0 to 1023'])
  expect(await here('add', '4', '--room', 'many')).toEqual([2, expect.stringContaining('how many merchants')])
  expect((await run('drain', '9')).stderr).toContain('No such cell: 9. List cells with paylink cells list.')
  const failing = async (changes: { readonly [name: string]: string }) =>
    (await runProgram(['cells', 'list'], { ...env, ...changes })).stderr
  expect(await failing({ DIRECTORY_DATABASE_URL: '' })).toContain(
    'set DIRECTORY_DATABASE_URL and DIRECTORY_KEY',
  )
  expect(await failing({ DIRECTORY_DATABASE_URL: '' })).toContain('set DIRECTORY_DATABASE_URL and')
  expect(await failing({ DIRECTORY_KEY: '' })).toContain('needs DIRECTORY_KEY')
  expect(await failing({ DIRECTORY_DATABASE_URL: 'postgresql://127.0.0.1:9/directory' })).toContain(
    'leads to no PostgreSQL that answers',
  )
  const cells = await createTestDatabase()
  expect(await failing({ DIRECTORY_DATABASE_URL: cells.ownerUrl })).toContain('the database of a cell')
  await cells.drop()
})
