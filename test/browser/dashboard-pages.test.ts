import { mkdir } from 'node:fs/promises'
import { AxeBuilder } from '@axe-core/playwright'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { until } from '../support/app.ts'
import { type Dashboard, signIn, startDashboard, type Visitor } from '../support/dashboard.ts'
import { overflow } from '../support/page-checks.ts'

const SCREENSHOTS = new URL('../../test-output/screenshots/dashboard/', import.meta.url).pathname
const PAID_MS_MAX = 30_000
const LAYOUTS = [
  { name: 'light-1280', colorScheme: 'light', width: 1280 },
  { name: 'dark-360', colorScheme: 'dark', width: 360 },
  { name: 'dark-1280', colorScheme: 'dark', width: 1280 },
  { name: 'light-360', colorScheme: 'light', width: 360 },
] as const
/** The first two differ from each other in everything; `npm run test:long` draws all four. */
const SHOWN_LAYOUTS = process.env.LONG === '1' ? LAYOUTS : LAYOUTS.slice(0, 2)

/** Below which the accessibility rules ask of WCAG 2.2 AA. */
const AXE_TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

let dashboard: Dashboard
const ids = { paid: '', short: '', link: '', endpoint: '', event: '' }
beforeAll(async () => {
  await mkdir(SCREENSHOTS, { recursive: true })
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
  const invoice = (reference: string) =>
    make('/invoices', {
      usd_amount: '49.99',
      asset: 'LTC',
      external_reference: reference,
      customer_email: 'buyer@example.com',
    })
  const statusOf = async (id: string) => (await make(`/invoices/${id}`)).status
  for (const reference of ['order-1001', 'order-1002', 'order-1003']) {
    ids.paid = (await invoice(reference)).id
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
    PAID_MS_MAX,
    async () => (await statusOf(ids.paid)) === 'paid' && (await statusOf(ids.short)) === 'partially_paid',
  )
  ids.event = (await make(`/events?resource_id=${ids.paid}`)).data[0]?.id ?? ''
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
  'invoice-paid': () => `/invoices/${ids.paid}`,
  'invoice-short': () => `/invoices/${ids.short}`,
  'invoice-unknown': () => '/invoices/inv_01jd0w5f3e8gqv7n5k2m9x4c6t',
  attention: () => '/attention',
  links: () => '/links',
  link: () => `/links/${ids.link}`,
  balances: () => '/balances',
  keys: () => '/developers/keys',
  webhooks: () => '/developers/webhooks',
  webhook: () => `/developers/webhooks/${ids.endpoint}`,
  events: () => '/developers/events',
  event: () => `/developers/events/${ids.event}`,
  awaiting: () => '/developers/awaiting',
  logs: () => '/developers/logs',
  coins: () => '/settings/coins',
  rules: () => '/settings/rules',
  branding: () => '/settings/branding',
  team: () => '/settings/team',
  security: () => '/settings/security',
  audit: () => '/settings/audit',
}

describe.each(SHOWN_LAYOUTS)('in $name', (layout) => {
  let visitor: Visitor
  beforeAll(async () => {
    visitor = await dashboard.visitor(layout)
  })
  afterAll(() => visitor.context.close())

  const check = async (name: string, path: string): Promise<void> => {
    const { page, complaints } = visitor
    complaints.length = 0
    await visitor.open(path)
    await page.locator('[aria-busy=true], .bone').first().waitFor({ state: 'detached' })
    await page.screenshot({ path: `${SCREENSHOTS}${name}-${layout.name}.png`, fullPage: true })
    expect(await page.locator('h1').count()).toBe(1)
    expect(await overflow(page)).toBe(0)
    const { violations } = await new AxeBuilder({ page }).withTags(AXE_TAGS).analyze()
    expect(
      violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 120)).join(' | ')}`),
    ).toEqual([])
    // A browser logs an answer that is no success; the page of what does not exist asks for one.
    expect(complaints.filter((line) => !(name === 'invoice-unknown' && /404/.test(line)))).toEqual([])
  }

  test.each(Object.entries(OUTSIDE))('the page %s is whole, clean and accessible', check)
  test('signing in leads to the home page', async () => {
    await signIn(visitor, dashboard.owner)
  })
  test.each(Object.keys(INSIDE))('the page %s is whole, clean and accessible', async (name) => {
    await check(name, INSIDE[name]?.() ?? '')
  })
})
