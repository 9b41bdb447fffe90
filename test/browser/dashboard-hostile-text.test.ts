// @module-tag chromium
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { askFromPage, type Dashboard, PASSWORD, startDashboard, type Visitor } from '../support/dashboard.ts'
import { importPastInvoice } from '../support/imported-invoice.ts'
import { overflow } from '../support/page-checks.ts'
import { randomLitecoinAddress } from '../support/resources.ts'
import { until } from '../support/until.ts'

/** What stored text can try in a page (security rows 21 and 22): each would call `alert` or change `window.hit`. */
const PAYLOADS = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(2)>',
  '<svg/onload=alert(3)>',
  'javascript:alert(4)//\'"`',
  '{{constructor.constructor("alert(5)")()}}',
] as const
const ALL = PAYLOADS.join(' ')
/** Whatever is called something may be called this; cut to the longest name, it still has the first four. */
const NAME = ALL.slice(0, 120).trim()
const PASSKEY = ALL.slice(0, 64).trim()
/** What of them would stand in a page that takes text for HTML. */
const RAW = 'body script:not([src]), img[src="x"], [onload], [onerror]'
/** No form of ours takes it for an address, and the sign-in's own does not keep it out of the table. */
const HOSTILE_EMAIL = '<img/src=x/onerror=alert(9)>@evil.example'
const PAID_MS_MAX = 120_000

let dashboard: Dashboard
let shop: Visitor
beforeAll(async () => {
  dashboard = await startDashboard({ WEBHOOK_ALLOW_PRIVATE: '1' })
  shop = await dashboard.visitor({ width: 360 })
  await openHostileShop()
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

/** Nothing of what a visitor sees was taken for HTML, no script ran, and nothing pushes the page wide. */
async function expectPlainText({ page, alerts }: Visitor, where: string): Promise<void> {
  expect([where, await page.locator(RAW).count()]).toEqual([where, 0])
  expect([where, await overflow(page)]).toEqual([where, 0])
  // The API refuses a search for what can be no id and a live key without a second factor; a browser logs the answer.
  expect([where, alerts.filter((line) => !/status of 40[03]/.test(line))]).toEqual([where, []])
}

/** What was read from the tables alone: nothing writes it by a form of the dashboard. */
async function plantInTables(merchantId: string, personId: string): Promise<void> {
  const { owner } = dashboard.database
  await importPastInvoice(dashboard.database, merchantId, {
    source: PAYLOADS[0],
    sourceId: ALL,
    status: ALL,
    currency: PAYLOADS[1],
    orderReference: ALL,
    customerEmail: HOSTILE_EMAIL,
    payments: [{ id: ALL, coin: PAYLOADS[2], amount: PAYLOADS[1], received_at: null }],
  })
  await dashboard.writeSealed(
    `insert into person_passkey (id, user_id, name, public_key, credential_id, counter, device_type, backed_up, created_at)
     values ('passkey', $1, $2, '', 'credential', 0, 'singleDevice', false, now())`,
    [personId, PASSKEY],
  )
  await owner.query(
    `insert into request_log (merchant_id, id, livemode, request_id, caller, method, route, path, status, error_code, duration_ms, created_at)
     values ($1, 'rlog_hostile', false, $2, $2, $2, '/', $3, 404, $2, 1, now())`,
    [merchantId, PAYLOADS[1], `/api/v1/invoices/${ALL}`],
  )
  // The API keeps a URL as a browser would write it, with all of this escaped.
  await owner.query('update webhook_endpoint set url = $1', [`https://shop.example/?q=${ALL}`])
  await dashboard.writeSealed('update person set email = $2, email_verified = false where id = $1', [
    personId,
    HOSTILE_EMAIL,
  ])
}

const GUEST = 'guest@example.com'
const ids = { invoice: '', event: '', link: '', endpoint: '', payout: '', invitation: '' }

async function openHostileShop(): Promise<void> {
  const { page, open } = shop
  await open('/sign-up')
  await page.getByLabel('Your name').fill(NAME)
  await page.getByLabel('Email').fill('hostile@example.com')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByLabel('Shop name').fill(NAME)
  await page.getByRole('button', { name: 'Open my shop' }).click()
  await page.getByRole('heading', { name: 'Home' }).waitFor()

  const api = '/api/v1'
  const invoice = await make(`${api}/invoices`, {
    usd_amount: '10',
    asset: 'LTC',
    external_reference: ALL,
    description: ALL,
    customer_email: '<img/src=x/onerror=alert(6)>@evil.example',
    metadata: { [ALL.slice(0, 60)]: ALL, nested: { deep: [ALL] } },
  })
  const name = NAME
  const link = await make(`${api}/payment-links`, { name, allow_dynamic_amount: true })
  await make(`${api}/payment-links/${link.id}/checkout-sessions`, { order_reference: ALL, usd_amount: '5' })
  await make(`${api}/api-keys`, { name, scopes: ['invoices:read'] })
  const endpoint = await make(`${api}/webhook-endpoints`, {
    url: 'http://127.0.0.1:9/%3Cscript%3Ealert(7)%3C/script%3E?q=<img/src=x/onerror=alert(8)>',
    subscribed_events: ['*'],
  })
  const seller = { legal_name: name, postal_address: name, tax_number: name.slice(0, 64) }
  expect((await ask('PATCH', `${api}/merchant`, { brand_name: name, ...seller })).status).toBe(200)
  await make('/api/auth/update-user', { name })
  await make(`${api}/test/invoices/${invoice.id}/pay`, { scenario: 'under' })
  await until(
    async () => (await ask('GET', `${api}/invoices/${invoice.id}`)).body.status === 'partially_paid',
    { timeoutMs: PAID_MS_MAX },
  )
  await make(`${api}/invoices/${invoice.id}/resolve`, { resolution: 'accept', note: ALL })
  // Taken as full payment before it was final, it becomes available by itself.
  await until(
    async () => /"available":"0\.[0-9]*[1-9]/.test(JSON.stringify(await ask('GET', `${api}/balances`))),
    {
      what: 'the payment is available',
      timeoutMs: PAID_MS_MAX,
    },
  )
  const destination = await make(`${api}/payout-destinations`, {
    asset: 'LTC',
    address: randomLitecoinAddress('regtest'),
    name,
  })
  const payout = await make(`${api}/payouts`, { destination_id: destination.id, amount: '0.01' })
  const event = (await ask('GET', `${api}/events?resource_id=${invoice.id}`)).body.data[0]?.id ?? ''
  const { owner } = dashboard.database
  const { rows } = await owner.query<{ organization_id: string; user_id: string }>(
    `select organization_id, user_id from organization_member join person on person.id = user_id
     where email = 'hostile@example.com'`,
  )
  const [{ organization_id: merchantId, user_id: personId } = { organization_id: '', user_id: '' }] = rows
  await dashboard.writeSealed('update person set email_verified = true where id = $1', [personId])
  const invitation = await make('/api/auth/organization/invite-member', {
    email: GUEST,
    role: 'viewer',
    organizationId: merchantId,
  })
  await plantInTables(merchantId, personId)
  Object.assign(ids, {
    invoice: invoice.id,
    event,
    link: link.id,
    endpoint: endpoint.id,
    payout: payout.id,
    invitation: invitation.id,
  })
}

/** Every page that shows what was stored, and what of it is to be read there. */
const PAGES: readonly (readonly [path: string, shown: string | undefined])[] = [
  ['/', undefined],
  ['/invoices', ALL],
  [`/invoices?q=${encodeURIComponent(PAYLOADS[1])}`, undefined],
  ['/invoices/{invoice}', ALL],
  ['/invoices/imported', ALL],
  ['/attention', undefined],
  ['/links', NAME],
  ['/links/{link}', ALL],
  ['/balances', undefined],
  ['/payouts', NAME],
  ['/payouts/destinations', NAME],
  ['/payouts/{payout}', NAME],
  ['/developers/keys', NAME],
  ['/developers/webhooks', ALL],
  ['/developers/webhooks/{endpoint}', ALL],
  ['/developers/events', undefined],
  [`/developers/events?resource=${encodeURIComponent(PAYLOADS[2])}`, undefined],
  ['/developers/events/{event}', undefined],
  ['/developers/awaiting', undefined],
  ['/developers/logs', ALL],
  ['/settings/branding', undefined],
  ['/settings/team', NAME],
  ['/settings/security', PASSKEY],
  ['/settings/audit', undefined],
]

const pathOf = (path: string): string =>
  path.replace(/\{(\w+)\}/, (_, name: string) => new Map(Object.entries(ids)).get(name) ?? '')

test.each(PAGES)(
  'text that would be code is text on the page %s, at 360 pixels without scrolling sideways',
  async (path, shown) => {
    const { page, alerts, open } = shop
    alerts.length = 0
    await open(pathOf(path))
    await page.locator('[aria-busy=true], .skeleton').first().waitFor({ state: 'detached' })
    if (shown !== undefined) await expect.poll(() => page.locator('#page').textContent()).toContain(shown)
    await expectPlainText(shop, path)
  },
)

test('an invitation shows the names of the shop and of who invites as text', async () => {
  const guest = await dashboard.visitor({ width: 360 })
  const join = { name: NAME, email: GUEST, password: PASSWORD }
  await guest.open('/sign-in')
  expect((await askFromPage(guest, 'POST', '/api/auth/sign-up/email', join)).status).toBe(200)
  await dashboard.writeSealed('update person set email_verified = true where email = $1', [GUEST])
  await guest.open(`/invitation?id=${ids.invitation}`)
  await expect.poll(() => guest.page.locator('main').textContent()).toContain(`Join ${NAME}`)
  expect(await guest.page.locator('main').textContent()).toContain(HOSTILE_EMAIL)
  await expectPlainText(guest, 'the invitation')
  await guest.page.getByRole('button', { name: 'Join the shop' }).click()
  await guest.page.getByRole('heading', { name: 'Home' }).waitFor()
  await guest.context.close()
})

const textOfWindow = async (page: Page): Promise<string> =>
  (await page.locator('dialog').allTextContents()).join()

/** Every window that shows a name: where, the button that opens it, and what is to be read in it. */
const WINDOWS: readonly (readonly [path: string, trigger: string | RegExp, shown: string])[] = [
  ['/developers/keys', `Revoke ${NAME}`, NAME],
  ['/payouts', 'New payout', NAME],
  ['/payouts/destinations', `Check ${NAME}`, NAME],
  ['/payouts/destinations', `Remove ${NAME}`, NAME],
  ['/developers/webhooks/{endpoint}', 'Roll secret', ALL],
  ['/developers/awaiting', /^Send invoice/, ALL],
  ['/settings/team', `Remove ${NAME}`, NAME],
  ['/settings/security', `Remove ${PASSKEY}`, PASSKEY],
]

describe('a window', () => {
  beforeAll(async () => {
    // One that can be sent to is named where events are sent.
    await dashboard.database.owner.query(
      `update webhook_endpoint set status = 'enabled', verified_at = now()`,
    )
  })

  test.each(WINDOWS)(
    'of %s, by %s, shows the name of what it asks about as text',
    async (path, trigger, shown) => {
      const { page, alerts, open } = shop
      alerts.length = 0
      await open(pathOf(path))
      // In one step: a live page may draw the button anew in between.
      await page.getByRole('button', { name: trigger, exact: true }).first().press('Enter')
      await expect.poll(() => textOfWindow(page)).toContain(shown)
      await expectPlainText(shop, `${trigger}`)
    },
  )

  test('that asks for a second factor leaves the name in the one below it text', async () => {
    const { page, alerts, open } = shop
    alerts.length = 0
    await open('/developers/keys?mode=live')
    await page.getByRole('button', { name: 'New key' }).first().press('Enter')
    await page.getByLabel('Name').fill(NAME)
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByRole('heading', { name: 'Confirm that it is you' }).waitFor()
    await expectPlainText(shop, 'the step-up')
  })
})

test('another site that frames the dashboard shows nothing of it', async () => {
  const other = await dashboard.visitor()
  await other.page.setContent(`<iframe src="${dashboard.url}/dashboard/sign-in"></iframe>`)
  await expect.poll(() => other.alerts.join('\n')).toMatch(/frame-ancestors|X-Frame-Options/)
  expect(await other.page.frameLocator('iframe').getByRole('heading').count()).toBe(0)
})
