// @module-tag chromium
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { photograph } from '../support/browser.ts'
import { type Dashboard, signIn, startDashboard, type Visitor } from '../support/dashboard.ts'
import { importPastInvoice } from '../support/imported-invoice.ts'
import {
  axeContrastFaults,
  axeFaults,
  brokenBadges,
  cutTables,
  overflow,
  wideFields,
} from '../support/page-checks.ts'
import { randomLitecoinAddress } from '../support/resources.ts'
import { until } from '../support/until.ts'
import { DIALOGS } from './dashboard-dialogs.ts'

const PAID_MS_MAX = 120_000
/** They differ from each other in everything. Each page is drawn in the other scheme too; `npm run test:long` reads its contrast there. */
const LAYOUTS = [
  { colorScheme: 'light', other: 'dark', width: 1280 },
  { colorScheme: 'dark', other: 'light', width: 360 },
] as const

let dashboard: Dashboard
const ids = { paid: '', short: '', open: '', link: '', endpoint: '', event: '', payout: '', log: '' }
beforeAll(async () => {
  dashboard = await startDashboard({ WEBHOOK_ALLOW_PRIVATE: '1' })
  await fillShop()
})
afterAll(() => dashboard?.close())

type Made = { id: string; status: string; data: { id: string }[] }
const make = async (path: string, body?: object): Promise<Made> => {
  const method = body === undefined ? 'GET' : 'POST'
  return (await dashboard.app.api(method, `/api/v1${path}`, body)).body as Made
}

/** The demo shop with something on every page. */
async function fillShop(): Promise<void> {
  const invoice = (reference: string, asset = 'LTC') =>
    make('/invoices', {
      usd_amount: '49.99',
      asset,
      external_reference: reference,
      customer_email: 'buyer@example.com',
    })
  const statusOf = async (id: string) => (await make(`/invoices/${id}`)).status
  for (const [reference, asset] of [
    ['order-1001', 'LTC'],
    ['order-1002', 'USDC_BASE'],
    ['order-1003', 'LTC'],
  ] as const) {
    ids.paid = (await invoice(reference, asset)).id
    await make(`/test/invoices/${ids.paid}/pay`, { scenario: 'exact' })
  }
  ids.short = (await invoice('order-1004')).id
  await make(`/test/invoices/${ids.short}/pay`, { scenario: 'under' })
  ids.link = (await make('/payment-links', { name: 'Donation', allow_dynamic_amount: true })).id
  await make(`/payment-links/${ids.link}/checkout-sessions`, {
    order_reference: 'cart-77',
    usd_amount: '12.50',
  })
  ids.endpoint = (
    await make('/webhook-endpoints', { url: 'http://127.0.0.1:9/hooks', subscribed_events: ['*'] })
  ).id
  await make('/invoices', { usd_amount: 'many', asset: 'LTC' })
  await until(
    async () => (await statusOf(ids.paid)) === 'paid' && (await statusOf(ids.short)) === 'partially_paid',
    { timeoutMs: PAID_MS_MAX },
  )
  // What is paid in part waits for a person once its deadline has passed.
  await dashboard.database.owner.query('update invoice set expires_at = now() where id = $1', [ids.short])
  ids.open = (await invoice('order-1005')).id
  const destination = await make('/payout-destinations', {
    asset: 'LTC',
    address: randomLitecoinAddress('regtest'),
    name: 'Treasury',
  })
  ids.payout = (await make('/payouts', { destination_id: destination.id, amount: '0.1' })).id
  const { rows } = await dashboard.database.owner.query<{ id: string }>('select id from merchant')
  await importPastInvoice(dashboard.database, rows[0]?.id ?? '')
  ids.event = (await make(`/events?resource_id=${ids.paid}`)).data[0]?.id ?? ''
  await until(async () => {
    const logged = await dashboard.database.owner.query<{ id: string }>(
      'select id from request_log where status = 400',
    )
    ids.log = logged.rows[0]?.id ?? ''
    return ids.log !== ''
  })
}

const OUTSIDE: { readonly [name: string]: string } = {
  'sign-in': '/sign-in',
  'sign-up': '/sign-up',
  'forgot-password': '/forgot-password',
  'reset-password': '/reset-password?token=none',
  'verify-email': '/verify-email?token=none',
  invitation: '/invitation?id=none',
}
const INSIDE: { readonly [name: string]: () => string } = {
  home: () => '/',
  'home-live': () => '/?mode=live',
  invoices: () => '/invoices',
  'invoices-none': () => '/invoices?q=nothing-like-it',
  'invoices-imported': () => '/invoices/imported',
  'invoice-paid': () => `/invoices/${ids.paid}`,
  'invoice-short': () => `/invoices/${ids.short}`,
  'invoice-unknown': () => '/invoices/inv_01jd0w5f3e8gqv7n5k2m9x4c6t',
  attention: () => '/attention',
  customers: () => '/customers',
  'customers-none': () => '/customers?q=nobody',
  links: () => '/links',
  link: () => `/links/${ids.link}`,
  balances: () => '/balances',
  payouts: () => '/payouts',
  'payouts-none': () => '/payouts?status=failed',
  payout: () => `/payouts/${ids.payout}`,
  destinations: () => '/payouts/destinations',
  'destinations-live': () => '/payouts/destinations?mode=live',
  keys: () => '/developers/keys',
  webhooks: () => '/developers/webhooks',
  webhook: () => `/developers/webhooks/${ids.endpoint}`,
  events: () => '/developers/events',
  event: () => `/developers/events/${ids.event}`,
  awaiting: () => '/developers/awaiting',
  logs: () => '/developers/logs',
  log: () => `/developers/logs/${ids.log}`,
  'go-live': () => '/settings/go-live',
  coins: () => '/settings/coins',
  rules: () => '/settings/rules',
  branding: () => '/settings/branding',
  team: () => '/settings/team',
  security: () => '/settings/security',
  audit: () => '/settings/audit',
  unknown: () => '/settings/nowhere',
}

/** What has focus after each press of Tab, until it comes round; anything outside of the window is named. */
async function walkByTab(page: Page): Promise<{ reached: number; outside: string[] }> {
  const reached = new Set<string>()
  const outside: string[] = []
  const count = await page.locator('dialog').last().locator(FOCUSABLE).count()
  for (let press = 0; press < count + 2; press++) {
    await page.keyboard.press('Tab')
    const [place, name] = await page.evaluate(() => {
      const { activeElement } = document
      const dialogs = [...document.querySelectorAll('dialog')]
      const at = activeElement === null ? -1 : [...document.querySelectorAll('*')].indexOf(activeElement)
      // From the last one the browser goes round by its own address bar.
      if (activeElement === document.body) return ['browser', '']
      return [dialogs.at(-1)?.contains(activeElement) ? 'dialog' : 'page', String(at)]
    })
    if (place === 'dialog') reached.add(name ?? '')
    if (place === 'page') outside.push(name ?? '')
  }
  return { reached: reached.size, outside }
}

/** Of radio buttons of one name Tab stops at one. */
const FOCUSABLE =
  'a[href]:not([tabindex="-1"]), button:not([disabled]), input:not([type=radio]), input[type=radio]:checked, select, summary, [tabindex="0"]'

/** Four lines. */
const NAME_PX_MAX = 96

/** What is cut, or falls to pieces, beside the menu of a tablet. Leaves the window as wide as that. */
async function tabletFaults(page: Page): Promise<readonly (string | null)[]> {
  await page.setViewportSize({ width: 900, height: 900 })
  const tall = await page
    .locator('.row-link')
    .evaluateAll(
      (links, max) => links.filter(({ clientHeight }) => clientHeight > max).map((link) => link.textContent),
      NAME_PX_MAX,
    )
  return [...(await cutTables(page)), ...tall]
}

describe.each(LAYOUTS)('in $colorScheme, $width pixels wide', (layout) => {
  let visitor: Visitor
  beforeAll(async () => {
    visitor = await dashboard.visitor(layout)
  })
  afterAll(() => visitor.context.close())

  const check = async (name: string, path: string): Promise<void> => {
    const { page, alerts } = visitor
    const { colorScheme, other, width } = layout
    alerts.length = 0
    await visitor.open(path)
    await page.locator('[aria-busy=true], .skeleton').first().waitFor({ state: 'detached' })
    // What stands beside the page all the way down is drawn so, too.
    await photograph(page, `dashboard/${name}-${colorScheme}-${width}`)
    expect(await page.locator('h1').count()).toBe(1)
    expect(await overflow(page)).toBe(0)
    expect(await cutTables(page)).toEqual([])
    expect(await brokenBadges(page)).toEqual([])
    expect(await wideFields(page)).toEqual([])
    expect(await axeFaults(page)).toEqual([])
    await page.emulateMedia({ colorScheme: other })
    await photograph(page, `dashboard/${name}-${other}-${width}`)
    if (process.env.LONG === '1') expect(await axeContrastFaults(page)).toEqual([])
    await page.emulateMedia({ colorScheme })
    if (width > 900) {
      expect(await tabletFaults(page)).toEqual([])
      await photograph(page, `dashboard/${name}-${colorScheme}-900`)
      await page.setViewportSize({ width, height: 900 })
    }
    // A browser logs an answer that is no success; the page of what does not exist asks for one.
    expect(alerts.filter((line) => !(name === 'invoice-unknown' && /404/.test(line)))).toEqual([])
  }

  test.each(Object.entries(OUTSIDE))('the page %s is whole, clean and accessible', check)
  test('signing in leads to the home page', async () => {
    await signIn(visitor, dashboard.owner)
  })
  test.each(Object.keys(INSIDE))('the page %s is whole, clean and accessible', async (name) => {
    await check(name, INSIDE[name]?.() ?? '')
  })

  const shown = layout.width === 360 || process.env.LONG === '1' ? Object.entries(DIALOGS) : []
  const dialogs = shown.filter(([, { widthMax = layout.width }]) => layout.width <= widthMax)
  test.each(dialogs)(
    'the window %s is accessible, keeps the keyboard inside, and gives focus back',
    async (name, { path, before, trigger, title, advance, returnsTo, heldBy }) => {
      const { page } = visitor
      await visitor.open(path(ids))
      await before?.(page)
      const button = page.getByRole('button', { name: trigger, exact: true }).first()
      // In one step: a live page may draw the button anew in between.
      await button.press('Enter')
      await advance?.(page, dashboard.owner.password)
      const dialog = page.getByRole('dialog', { name: title }).last()
      await dialog.getByRole('heading', { name: title }).waitFor()
      await dialog.locator('.skeleton').first().waitFor({ state: 'detached' })
      await photograph(page, `dashboard/dialog-${name}-${layout.colorScheme}-${layout.width}`)
      expect(await overflow(page)).toBe(0)
      expect(await dialog.evaluate((element) => element.contains(document.activeElement))).toBe(true)
      expect(await axeFaults(page, 'dialog')).toEqual([])
      const { reached, outside } = await walkByTab(page)
      expect(outside).toEqual([])
      // A window that is longer than the screen can be reached itself, to scroll it.
      expect(reached).toBeGreaterThanOrEqual(await dialog.locator(FOCUSABLE).count())
      await page.keyboard.press('Escape')
      if (heldBy !== undefined) {
        await page.keyboard.press('Escape')
        await page.mouse.click(2, 2)
        await dialog.getByRole('button', { name: heldBy }).press('Enter')
      }
      await dialog.waitFor({ state: 'detached' })
      const again =
        returnsTo === undefined ? button : page.getByRole('button', { name: returnsTo, exact: true })
      expect(await again.evaluate((element) => element === document.activeElement)).toBe(true)
    },
  )
})
