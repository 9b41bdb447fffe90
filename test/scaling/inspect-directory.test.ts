import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { keyMark } from '../../src/directory/lookup.ts'
import { withDirectory } from '../../src/directory/open-directory.ts'
import { addCell } from '../../src/directory/registry.ts'
import { inspectDirectory } from '../../src/doctor/inspect-directory.ts'
import { createTestApi, type TestApi } from '../support/api.ts'
import { createTestDirectory, DIRECTORY_KEY, type TestDirectory } from '../support/cell-directory.ts'

/** What doctor says in cell 3 of a directory of cells. */

let api: TestApi
let directory: TestDirectory
beforeAll(async () => {
  api = await createTestApi()
  directory = await createTestDirectory({ 0: 100, 3: 100 })
})
afterAll(async () => {
  await directory?.drop()
  await api?.drop()
})
beforeEach(async () => {
  await change('truncate person_cell, passkey_cell')
  await change(
    `insert into passkey_cell select hmac, number from cell, decode('${keyMark(key)}', 'hex') as hmac`,
  )
  await change(`update cell set state = 'open', room = 100, merchants = 1, reported_at = now()`)
})

const key = Buffer.from(DIRECTORY_KEY, 'hex')
const change = (sql: string) => directory.database.owner.query(sql)
const findings = async (url = directory.urlOf(3), cell = 3) =>
  (await inspectDirectory({ directory: { url, key }, cell }, api.database.owner)).map(
    ({ kind, text }) => `${kind}: ${text}`,
  )

test('nothing is said without a directory, and all is well where it has this cell’s people', async () => {
  expect(await inspectDirectory({ directory: null, cell: 3 }, api.database.owner)).toEqual([])
  const well = [
    expect.stringMatching(/^ok: Cell 3 reported to the directory of cells \d s ago$/),
    'ok: The directory of cells has 0 of this cell’s 0 people',
  ]
  expect(await findings()).toEqual(well)
  expect(await findings(directory.database.ownerUrl)).toEqual(well)
})

test('one that cannot be reached is a fault, without its password', async () => {
  const url = 'postgresql://cell:secret@127.0.0.1:9/directory'
  const [found, ...others] = await findings(url)
  expect(found).toMatch(/^fault: The directory of cells could not be read: .*ECONNREFUSED/)
  expect(found).not.toContain('secret')
  expect(others).toEqual([])
})

test('a database that is no directory, or an older one, is a fault', async () => {
  expect(await findings(api.database.ownerUrl)).toEqual([
    'fault: DIRECTORY_DATABASE_URL leads to no directory of cells: see paylink cells add',
  ])
  await change('delete from directory_migration where version = 2')
  try {
    expect(await findings()).toEqual([
      'fault: The directory of cells has schema 1, and this release 2: run paylink cells list with its owner’s login',
    ])
  } finally {
    await change('insert into directory_migration (version) values (2)')
  }
})

test('a cell that is not registered, never reported or did so long ago is a fault', async () => {
  expect(await findings(directory.urlOf(3), 5)).toEqual([
    'fault: The directory of cells does not know cell 5: run paylink cells add 5',
  ])
  await change('update cell set reported_at = null where number = 3')
  expect(await findings()).toEqual([expect.stringContaining('fault: Cell 3 has never reported')])
  await change(`update cell set reported_at = now() - interval '6 minutes' where number = 3`)
  expect((await findings())[0]).toMatch(/^fault: Cell 3 last reported to the directory of cells 36\d s ago/)
})

test('people whom the directory lacks or has too many are a fault, and a few on their way are none', async () => {
  const put = (count: number) =>
    change(`insert into person_cell select sha256(n::text::bytea), 3, true, now() from generate_series(1, ${count}) as n
      on conflict do nothing`)
  await put(10)
  expect((await findings())[1]).toBe('ok: The directory of cells has 10 of this cell’s 0 people')
  await put(11)
  expect((await findings())[1]).toBe(
    'fault: The directory of cells has 11 of this cell’s 0 people: restart a process with the role api, which compares them',
  )
})

test('a cell that is drained or full takes no new accounts', async () => {
  await change(`update cell set state = 'draining' where number = 3`)
  const said = (await findings()).at(-1)
  expect(said).toBe(
    'notice: Cell 3 is drained, and takes no new accounts: run paylink cells add 3 --room … to open it',
  )
  await withDirectory(directory.database.ownerUrl, (pool) =>
    addCell(pool, { url: directory.database.ownerUrl, number: 3, room: 1 }),
  )
  expect((await findings()).at(-1)).toMatch(/^notice: Cell 3 is full with 1 merchants/)
})

test('cells that look up with different keys are a fault, for neither finds the people of the other', async () => {
  await change(`update passkey_cell set lookup = sha256(lookup) where cell = 0`)
  expect((await findings()).at(-1)).toBe(
    'fault: Cells that look up in the directory of cells with another DIRECTORY_KEY than cell 3: 0, or run an older release: give all cells the same key, or people are refused where they come first',
  )
  await change(`update passkey_cell set lookup = sha256(lookup) where cell = 3`)
  expect((await findings()).at(-1)).toMatch(
    /^fault: The processes of cell 3 .* another DIRECTORY_KEY than this/,
  )
})
