import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../support/app.ts'
import { askFromPage, type Dashboard, PASSWORD, startDashboard, type Visitor } from '../support/dashboard.ts'
import { overflow } from '../support/page-checks.ts'
import { randomLitecoinAddress } from '../support/resources.ts'

/** What stored text can try in a page (security rows 21 and 22): each would call `alert` or change `window.hit`. */
const PAYLOADS = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(2)>',
  '<svg/onload=alert(3)>',
  'javascript:alert(4)//\'"`',
  '{{constructor.constructor("alert(5)")()}}',
] as const
const ALL = PAYLOADS.join(' ')
const PAID_MS_MAX = 30_000

let dashboard: Dashboard
let shop: Visitor
beforeAll(async () => {
  dashboard = await startDashboard({ WEBHOOK_ALLOW_PRIVATE: '1' })
  shop = await dashboard.visitor({ width: 360 })
})
afterAll(() => dashboard?.close())

const ask = (method: string, path: string, body?: object) => askFromPage(shop, method, path, body)

async function make(path: string, body: object) {
  const made = await ask('POST', path, body)
  expect([path, made.status < 300, made.status < 300 ? '' : JSON.stringify(made.body)]).toEqual([
    path,
    true,
    '',
  ])
  return made.body
}

test('text that would be code is text on every page, at 360 pixels without scrolling sideways', async () => {
  const { page, complaints, open } = shop
  await open('/sign-up')
  await page.getByLabel('Your name').fill(ALL.slice(0, 120))
  await page.getByLabel('E-mail').fill('hostile@example.com')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByLabel('Shop name').fill(ALL.slice(0, 120))
  await page.getByRole('button', { name: 'Open my shop' }).click()
  await page.getByRole('heading', { name: 'Home' }).waitFor()

  const api = '/api/v1'
  const invoice = await make(`${api}/invoices`, {
    usd_amount: '10',
    asset: 'LTC',
    external_reference: ALL,
    customer_email: '<img/src=x/onerror=alert(6)>@evil.example',
    metadata: { [ALL.slice(0, 60)]: ALL, nested: { deep: [ALL] } },
  })
  const name = ALL.slice(0, 120)
  const link = await make(`${api}/payment-links`, { name, allow_dynamic_amount: true })
  await make(`${api}/payment-links/${link.id}/checkout-sessions`, { order_reference: ALL, usd_amount: '5' })
  await make(`${api}/api-keys`, { name, scopes: ['invoices:read'] })
  const endpoint = await make(`${api}/webhook-endpoints`, {
    url: 'http://127.0.0.1:9/%3Cscript%3Ealert(7)%3C/script%3E?q=<img/src=x/onerror=alert(8)>',
    subscribed_events: ['*'],
  })
  expect((await ask('PATCH', `${api}/merchant`, { brand_name: name })).status).toBe(200)
  await make('/api/auth/update-user', { name })
  await make(`${api}/test/invoices/${invoice.id}/pay`, { scenario: 'under' })
  await until(
    PAID_MS_MAX,
    async () => (await ask('GET', `${api}/invoices/${invoice.id}`)).body.status === 'partially_paid',
  )
  await make(`${api}/invoices/${invoice.id}/resolve`, { resolution: 'accept', note: ALL })
  const destination = await make(`${api}/payout-destinations`, {
    asset: 'LTC',
    address: randomLitecoinAddress('regtest'),
    name,
  })
  const payout = await make(`${api}/payouts`, { destination_id: destination.id, amount: '0.01' })
  const event = (await ask('GET', `${api}/events?resource_id=${invoice.id}`)).body.data[0]?.id ?? ''

  for (const path of [
    '/',
    '/invoices',
    `/invoices?q=${encodeURIComponent(PAYLOADS[1])}`,
    `/invoices/${invoice.id}`,
    '/attention',
    '/links',
    `/links/${link.id}`,
    '/balances',
    '/payouts',
    '/payouts/destinations',
    `/payouts/${payout.id}`,
    '/developers/keys',
    '/developers/webhooks',
    `/developers/webhooks/${endpoint.id}`,
    '/developers/events',
    `/developers/events?resource=${encodeURIComponent(PAYLOADS[2])}`,
    `/developers/events/${event}`,
    '/developers/awaiting',
    '/developers/logs',
    '/settings/branding',
    '/settings/team',
    '/settings/security',
    '/settings/audit',
  ]) {
    complaints.length = 0
    await open(path)
    await page.locator('[aria-busy=true], .bone').first().waitFor({ state: 'detached' })
    expect([path, await page.locator('main script, main img[src="x"], svg[onload]').count()]).toEqual([
      path,
      0,
    ])
    expect([path, await overflow(page)]).toEqual([path, 0])
    // The API refuses a search for what can be no id, and a browser logs that answer.
    expect([path, complaints.filter((line) => !/status of 400/.test(line))]).toEqual([path, []])
  }
})

test('another site that frames the dashboard shows nothing of it', async () => {
  const other = await dashboard.visitor()
  await other.page.setContent(`<iframe src="${dashboard.url}/dashboard/sign-in"></iframe>`)
  await expect.poll(() => other.complaints.join('\n')).toMatch(/frame-ancestors|X-Frame-Options/)
  expect(await other.page.frameLocator('iframe').getByRole('heading').count()).toBe(0)
})
