// @module-tag haproxy
// @module-tag chromium
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cellOfUnknown, emailLookup } from '../../src/directory/lookup.ts'
import { type App, makePlace, startApp } from '../support/app.ts'
import { addAuthenticator, launchBrowser } from '../support/browser.ts'
import { createTestDirectory, DIRECTORY_KEY, type TestDirectory } from '../support/cell-directory.ts'
import { freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import { writeCellsProxy } from './cells-proxy.ts'

/** Two cells behind one address with a directory, as people see them: one sign-in page, by password and by passkey. */

const PASSWORD = 'correct horse battery'
/** Of the account in the first cell. */
const OTHER_PASSWORD = 'another horse battery'
const EMAIL = 'nora@example.com'
type Cell = { readonly number: number; readonly app: App }

let folder: string
let places: Awaited<ReturnType<typeof makePlace>>[]
let directory: TestDirectory
let cells: Cell[]
let proxy: ChildProcess
let site: string
let chromium: Browser
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'paylink-one-sign-in-'))
  directory = await createTestDirectory({ 0: 10, 3: 1_000 })
  // Registered, and in no map of a proxy.
  await directory.database.owner.query('insert into cell (number) values (9)')
  places = [await makePlace(), await makePlace()]
  const port = await freePort()
  site = `http://localhost:${port}`
  cells = await Promise.all([0, 3].map((number, at) => startCell(number, at)))
  const proxied = cells.map(({ number, app }) => ({ number, servers: [new URL(app.baseUrl).host] }))
  const path = await writeCellsProxy(folder, `127.0.0.1:${port}`, proxied)
  proxy = spawn('haproxy', ['-db', '-f', path], { stdio: 'ignore' })
  chromium = await launchBrowser()
  await until(async () => (await fetch(`${site}/healthz`).catch(() => null))?.status === 200)
  await until(async () => (await peopleIn(0)) > 0 && (await peopleIn(3)) > 0)
})
afterAll(async () => {
  await chromium?.close()
  proxy?.kill()
  await Promise.all((cells ?? []).map(({ app }) => app.stop()))
  for (const place of places ?? []) await place.remove()
  await directory?.drop()
  await rm(folder, { recursive: true, force: true })
})

async function startCell(number: number, at: number): Promise<Cell> {
  const place = places[at]
  if (place === undefined) throw new Error('no place')
  // The template was marked as the first cell's.
  await place.database.owner.query('update installation set cell = $1', [number])
  const env = {
    BASE_URL: site,
    CELL: String(number),
    DIRECTORY_DATABASE_URL: directory.urlOf(number),
    DIRECTORY_KEY,
  }
  const app = await startApp({ dataDir: place.dataDir, database: place.database, env })
  return { number, app }
}

async function peopleIn(cell: number): Promise<number> {
  const { rows } = await directory.database.owner.query<{ count: number }>(
    'select count(*) as count from person_cell where cell = $1',
    [cell],
  )
  return rows[0]?.count ?? 0
}

/** A page of a browser that was never here. */
const newPage = async (): Promise<Page> => (await chromium.newContext()).newPage()
const home = (page: Page) => page.getByRole('heading', { name: 'Home' }).waitFor()
async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
}
/** Signs up at a page, and confirms the address by the link of the email, which stands in the cell's log. */
async function signUp(page: Page, path: string, password: string, cell: number): Promise<void> {
  await page.goto(`${site}${path}`)
  await page.getByLabel('Your name').fill('Nora')
  await page.getByLabel('Email').fill(EMAIL)
  await page.getByLabel('Password').fill(password)
  await page.getByLabel('Shop name').fill(`Shop in ${cell}`)
  await page.getByRole('button', { name: 'Open my shop' }).click()
  await home(page)
  const links = () =>
    cells.flatMap(({ number, app }) => (number === cell ? app.stderr().match(CONFIRM_LINK) : null) ?? [])
  await until(() => links().length > 0)
  await page.goto(`${links()[0]}`)
  await page.getByRole('button', { name: 'Confirm my address' }).click()
  await page.getByRole('button', { name: 'Go to the dashboard' }).click()
  await home(page)
}
const CONFIRM_LINK = /http:\/\/localhost:\d+\/cells\/0\d\/dashboard\/verify-email\?token=[\w.%-]+/
const cellOf = async (page: Page) =>
  (await page.context().cookies(site)).find(({ name }) => name === 'paylink_cell')?.value

test('a new shop gets the cell with the most room, and signs in at the one page from any browser', async () => {
  await signUp(await newPage(), '/dashboard/sign-up', PASSWORD, 3)
  await until(async () => (await peopleIn(3)) === 2)
  const page = await newPage()
  await page.goto(`${site}/dashboard/sign-in`)
  await signIn(page, 'Nora@example.com', PASSWORD)
  await home(page)
  await page.getByText('Shop in 3').waitFor()
  expect(await cellOf(page)).toBe('03')
})

test('with shops in two cells somebody signs in to each once, goes between them, and uses a passkey', async () => {
  await signUp(await newPage(), '/cells/00/dashboard/sign-up', OTHER_PASSWORD, 0)
  await until(async () => {
    const { rowCount } = await directory.database.owner.query(
      'select from person_cell where is_verified group by lookup having count(*) = 2',
    )
    return rowCount === 1
  })
  const page = await newPage()
  await page.goto(`${site}/dashboard/sign-in`)
  await signIn(page, EMAIL, PASSWORD)
  await home(page)
  const goToOther = () => page.getByLabel('Shop', { exact: true }).selectOption({ label: 'Other shops' })
  await goToOther()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await signIn(page, EMAIL, OTHER_PASSWORD)
  await home(page)
  expect(await cellOf(page)).toBe('00')
  await goToOther()
  await page.getByLabel('Shop', { exact: true }).getByText('Shop in 3').waitFor({ state: 'attached' })
  expect(await cellOf(page)).toBe('03')
  await addAuthenticator(page)
  await page.goto(`${site}/dashboard/settings/security`)
  await page.getByLabel('Name of this device').fill('Laptop')
  await page.getByRole('button', { name: 'Add a passkey' }).click()
  await until(async () => {
    const { rowCount } = await directory.database.owner.query('select from passkey_cell where cell = 3')
    // One says that all cells look up with the same key.
    return rowCount === 2
  })
  await page.context().clearCookies()
  await page.evaluate(() => window.sessionStorage.clear())
  await page.goto(`${site}/dashboard/sign-in`)
  await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
  await home(page)
  expect(await cellOf(page)).toBe('03')
})

test('a cell that the proxy does not know is asked for once more, and the page says so and stops', async () => {
  const key = Buffer.from(DIRECTORY_KEY, 'hex')
  const candidates = Array.from({ length: 100 }, (_, number) => `nobody${number}@example.com`)
  const email = candidates.find((one) => cellOfUnknown(key, emailLookup(key, one), [0, 3, 9]) === 9) ?? ''
  const page = await newPage()
  const answers: number[] = []
  page.on('response', (response) => {
    if (response.url().endsWith('/sign-in/email')) answers.push(response.status())
  })
  await page.goto(`${site}/dashboard/sign-in`)
  await signIn(page, email, PASSWORD)
  await page.getByText('The server that this belongs to cannot be reached').waitFor()
  expect(answers).toEqual([421, 421])
  expect(await cellOf(page)).toBe('09')
  // The cookie of a cell that is not there leads to the first one, and keeps nobody out.
  await signIn(page, EMAIL, PASSWORD)
  await home(page)
})
