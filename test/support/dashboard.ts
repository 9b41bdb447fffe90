import type { Browser, BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { openAccessSeals } from '../../src/secrets/access-seals.ts'
import { openKeyring } from '../../src/secrets/keyring.ts'
import { loadSecretKey } from '../../src/secrets/secret-key.ts'
import { type App, makeDataDir, startApp } from './app.ts'
import { launchBrowser } from './browser.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { axeFaults, complaintsOf } from './page-checks.ts'
import { codeOf } from './people.ts'
import { sealedWriter, type WriteSealed } from './sealed.ts'
import { until } from './until.ts'

export const PASSWORD = 'correct horse battery'

export type Dashboard = {
  readonly app: App
  readonly browser: Browser
  readonly database: TestDatabase
  /** The demo shop's owner, as the start printed it. */
  readonly owner: Login
  /** Where the dashboard stands. */
  readonly url: string
  /** A browser of its own, with nobody signed in. */
  visitor(options?: { colorScheme?: 'light' | 'dark'; width?: number }): Promise<Visitor>
  /** A newcomer with a shop of their own, at the home page. */
  signUp(name: string, options?: Parameters<Dashboard['visitor']>[0]): Promise<Visitor>
  /** Makes every proof of a second factor an hour old. */
  forgetSecondFactors(): Promise<void>
  /** A statement of the test's own about people, members or keys, as if Paylink had written its rows. */
  readonly writeSealed: WriteSealed
  close(): Promise<void>
}
export type Login = { readonly email: string; readonly password: string }
export type Visitor = {
  readonly context: BrowserContext
  readonly page: Page
  /** What the browser alerted of since it was opened. */
  readonly alerts: string[]
  open(path: string): Promise<void>
}

/** The whole program in its sandbox, and a browser. */
export async function startDashboard(env: { readonly [name: string]: string } = {}): Promise<Dashboard> {
  const folder = await makeDataDir()
  const database = await createTestDatabase()
  const app = await startApp({ dataDir: folder.dataDir, env: { DATABASE_URL: database.ownerUrl, ...env } })
  const browser = await launchBrowser()
  const [, email = '', password = ''] = /Demo owner +(\S+) +password (\S+)/.exec(app.stdout()) ?? []
  const url = app.baseUrl.replace('127.0.0.1', 'localhost')
  const visitor: Dashboard['visitor'] = async ({ colorScheme = 'light', width = 1280 } = {}) => {
    const context = await browser.newContext({
      viewport: { width, height: 900 },
      colorScheme,
      timezoneId: 'UTC',
      permissions: ['clipboard-read', 'clipboard-write'],
    })
    const page = await context.newPage()
    const alerts = complaintsOf(page)
    const open = async (path: string) => {
      await page.goto(`${url}/dashboard${path}`)
      await page.getByRole('heading', { level: 1 }).waitFor()
    }
    return { context, page, alerts, open }
  }
  const keyring = openKeyring(await loadSecretKey(folder.dataDir, null))
  const writeSealed = sealedWriter(database.owner, openAccessSeals(keyring, { error: () => {} }))
  return {
    app,
    browser,
    database,
    writeSealed,
    owner: { email, password },
    url,
    visitor,
    signUp: async (name, options) => {
      const one = await visitor(options)
      await one.open('/sign-up')
      await fillSignUp(one.page, name)
      await one.page.getByRole('heading', { name: 'Home' }).waitFor()
      return one
    },
    forgetSecondFactors: async () => {
      await writeSealed(`update person_session set second_factor_at = second_factor_at - interval '1 hour'`)
    },
    close: async () => {
      await browser.close()
      await app.stop()
      await database.drop()
      await folder.remove()
    },
  }
}

/** The pages hear that live mode has the networks of test mode, as on a server that sells in both. */
export async function pretendLiveNetworks({ context }: Visitor): Promise<void> {
  await context.route('**/api/v1/assets', (route) =>
    route.continue({ headers: { ...route.request().headers(), 'paylink-mode': 'test' } }),
  )
}

export const emailOf = (name: string): string => `${name.toLowerCase().replaceAll(' ', '.')}@example.com`

/** Fills the one form of sign-up and sends it. */
export async function fillSignUp(page: Page, name: string, shop = `Shop of ${name}`): Promise<void> {
  await page.getByLabel('Your name').fill(name)
  await page.getByLabel('Email').fill(emailOf(name))
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByLabel('Shop name').fill(shop)
  await page.getByRole('button', { name: 'Open my shop' }).click()
}

/** Signs in by password; the person has no second factor. */
export async function signIn({ page, open }: Visitor, { email, password }: Login): Promise<void> {
  await open('/sign-in')
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  await page.getByRole('heading', { name: 'Home' }).waitFor()
}

const LETTER_MS_MAX = 120_000

/** The path of the last message's link to that page; without a mail server emails stand in the log. */
export async function emailLink(dashboard: Dashboard, email: string, page: string): Promise<string> {
  const pattern = new RegExp(`${page}\\?[a-z]+=[\\w.%-]+`, 'g')
  const found = () =>
    dashboard.app
      .stderr()
      .split('\n')
      .filter((line) => line.includes(email))
      .flatMap((line) => line.match(pattern) ?? [])
      .at(-1)
  await until(() => found() !== undefined, { timeoutMs: LETTER_MS_MAX })
  return `/${found()}`
}

/** Turns on an authenticator app under Settings; what it returns are its secret and the backup codes. */
export async function turnOnSecondFactor({
  page,
  open,
}: Visitor): Promise<{ readonly secret: string; readonly backupCodes: readonly string[] }> {
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  await open('/settings/security')
  await press('Set it up')
  await page.getByLabel('Your password').fill(PASSWORD)
  await press('Continue')
  const secret = (await page.locator('.copy-field code').textContent()) ?? ''
  await page.getByLabel('6-digit code').fill(await codeOf(secret, -1))
  await press('Turn it on')
  const refused = page.getByRole('dialog').getByRole('alert')
  await page.getByRole('heading', { name: 'Keep your backup codes' }).or(refused).waitFor()
  expect(await refused.allTextContents()).toEqual([])
  expect(await axeFaults(page, 'dialog')).toEqual([])
  const backupCodes = await page.locator('.codes code').allTextContents()
  await press('I have kept them')
  return { secret, backupCodes }
}

/** Answers the window that asks for a second factor with one of the backup codes. */
export async function stepUp({ page }: Visitor, backupCode: string | undefined): Promise<void> {
  await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
  await page.getByRole('button', { name: 'Use a backup code' }).click()
  await page.getByLabel('One of your backup codes').fill(backupCode ?? '')
  await page.getByRole('button', { name: 'Confirm', exact: true }).click()
}

type Asked = {
  status: number
  body: {
    id: string
    status: string
    data: { id: string; status?: string }[]
    /** Of an invoice. */
    checkout_url: string
    created_at: string
    expires_at: string
    payments: { finality: string }[]
    addresses: { family: string; address: string }[]
  }
}

/** A request of the page itself, with its cookie, in test mode. */
export function askFromPage({ page }: Visitor, method: string, path: string, body?: object): Promise<Asked> {
  return page.evaluate(
    async ({ method, path, body }) => {
      const response = await fetch(path, {
        method,
        ...(body === undefined
          ? {}
          : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      })
      return { status: response.status, body: await response.json() }
    },
    { method, path, body },
  )
}
