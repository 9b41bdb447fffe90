import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../src/runtime/new-id.ts'
import { makePlace, runProgram } from '../support/app.ts'
import { keepFees } from '../support/fee-payouts.ts'
import { forgeBalance } from '../support/forge-balance.ts'

/** Cells 0 and 3 with a database each, and one whose database nothing serves. */

let folder: string
let places: Awaited<ReturnType<typeof makePlace>>[]
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paylink-each-'))
  places = [await makePlace(), await makePlace()]
  for (const [at, cell] of [0, 3].entries()) {
    const place = places[at]
    if (place === undefined) continue
    await write(cell === 0 ? '00.env' : '03.env', {
      cell,
      url: place.database.ownerUrl,
      dataDir: place.dataDir,
    })
    const now = new Date()
    const merchantId = newId('merchant', now)
    await place.database.owner.query(`insert into merchant values ($1, 'Shop', 'a@example.com', now())`, [
      merchantId,
    ])
    const tenant = { merchantId, livemode: false }
    const amount = BigInt(50_000_001 + cell)
    await place.database.owner.query('update installation set cell = $1', [cell])
    await forgeBalance(place.database.owner, tenant, { asset: 'LTC', amount, now })
    await keepFees(place.database.owner, tenant, amount, now)
  }
})
afterAll(async () => {
  for (const place of places ?? []) await place.remove()
  await rm(folder, { recursive: true, force: true })
})

const write = (name: string, to: { cell: number; url: string; dataDir?: string }) =>
  writeFile(
    join(folder, name),
    `CELL=${to.cell}\nDATABASE_URL=${to.url}\nDATA_DIR=${to.dataDir ?? join(folder, 'none')}\n`,
  )
/** The settings of this environment are no cell's. */
const each = (args: readonly string[]) =>
  runProgram(['cells', 'each', '--env-files', folder, ...args], {
    DATABASE_URL: 'postgresql://127.0.0.1:1/x',
    CELL: '9',
  })

test('a command runs for every cell with its own settings, and fees are added up exactly', async () => {
  const plain = await each(['--', 'fees', 'status'])
  expect(plain).toMatchObject({ code: 0, stderr: '' })
  expect(plain.stdout).toBe(
    'Cell 00\ntest  0.50000001 LTC collected from 1 merchants\n\nCell 03\ntest  0.50000004 LTC collected from 1 merchants\n',
  )
  const { code, stdout } = await each(['--json', '--', 'fees', 'status'])
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toEqual({
    cells: {
      '00': { exit_code: 0, problems: '', output: expect.objectContaining({ payouts: [] }) },
      '03': { exit_code: 0, problems: '', output: expect.objectContaining({ payouts: [] }) },
    },
    fees: [{ livemode: false, asset: 'LTC', collected: '1.00000005', reserved: '0', owed: '0' }],
  })
  const operators = JSON.parse((await each(['--json', '--', 'operator', 'list'])).stdout)
  expect(operators).toEqual({
    cells: Object.fromEntries(
      ['00', '03'].map((tag) => [tag, { exit_code: 0, problems: '', output: { operators: [] } }]),
    ),
  })
})

test('doctor names cells that have one seed', async () => {
  for (const { database } of places)
    await database.owner.query(
      `insert into account_key (keyspace, xpub, path, next_index, created_at)
       values ('bitcoin-live', 'xpub', 'm', 0, now())`,
    )
  const { code, stdout, stderr } = await each(['--', 'doctor'])
  expect(stdout.match(/; seed [0-9a-f]{16}$/gm)).toHaveLength(2)
  expect(stderr).toContain('Cells 00 and 03 have one seed')
  expect(code).toBe(1)
})

test('a cell that cannot be reached is named, stops no other, and makes the exit code', async () => {
  await write('01.env', { cell: 1, url: 'postgresql://127.0.0.1:1/x' })
  await write('05.env', { cell: 4, url: places[0]?.database.ownerUrl ?? '' })
  const { code, stdout, stderr } = await each(['--', 'fees', 'status'])
  expect(code).toBe(1)
  expect(stdout).toContain('Cell 03\ntest  0.50000004 LTC')
  expect(stderr).toContain('ECONNREFUSED')
  expect(stderr).toContain(`${join(folder, '05.env')} must say CELL=5`)
  expect(stderr).toContain('Failed in 2 of 4 cells: 01, 05')
  const report = JSON.parse((await each(['--json', '--', 'fees', 'status'])).stdout)
  expect(report.cells['01']).toMatchObject({
    exit_code: 1,
    output: null,
    problems: expect.stringContaining('ECONN'),
  })
  expect(report.fees).toEqual([expect.objectContaining({ collected: '1.00000005' })])
})

test.each([
  [['start'], 'runs in no cell'],
  [['fees', 'request', '--destination', 'dst_a'], 'runs in no cell'],
])('%j is refused before anything runs', async (command, problem) => {
  const { code, stdout, stderr } = await each(['--', ...command])
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toContain(problem)
})

test('a folder without env files of cells is refused', async () => {
  const { code, stderr } = await runProgram(['cells', 'each', '--env-files', tmpdir(), '--', 'doctor'], {})
  expect(code).toBe(2)
  expect(stderr).toContain('holds no env file such as 00.env or 03.env')
})
