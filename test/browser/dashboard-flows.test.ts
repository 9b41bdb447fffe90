// @module-tag chromium
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addAuthenticator, holdRequests, photograph } from '../support/browser.ts'
import {
  askFromPage,
  type Dashboard,
  emailLink,
  emailOf,
  PASSWORD,
  signIn,
  startDashboard,
  stepUp,
  turnOnSecondFactor,
  type Visitor,
} from '../support/dashboard.ts'
import { axeFaults, widest } from '../support/page-checks.ts'

const BUDGET_BYTES = 200_000
/** What is read line by line. */
const FORM_PX_MAX = 640
const BUILT = new URL('../../dist/dashboard/', import.meta.url)

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await startDashboard({ WEBHOOK_ALLOW_PRIVATE: '1' })
})
afterAll(() => dashboard?.close())

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const heading = (page: Page, name: string) => page.getByRole('heading', { name }).waitFor()

/** A receiver that answers a challenge as it must and takes every event. */
async function startReceiver() {
  const heard: string[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.on('data', (part) => {
      text += part
    })
    request.on('end', () => {
      const body = JSON.parse(text)
      heard.push(body.event_type ?? body.type)
      const challenge = body.challenge ?? body.data?.challenge
      response.end(challenge === undefined ? 'ok' : JSON.stringify({ challenge }))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { heard, url: `http://127.0.0.1:${port}/hooks`, close: () => server.close() }
}

describe('a shop in test mode', () => {
  let shop: Visitor
  beforeAll(async () => {
    shop = await dashboard.signUp('Bo Keeper')
  })
  afterAll(() => shop.context.close())

  test('an invoice is made, paid short, accepted, and found again by its filters', async () => {
    const { page, open } = shop
    await open('/invoices')
    await press(page, 'New invoice')
    await page.getByLabel('Amount in US dollars').fill('12,5')
    await page.getByLabel('Default coin').selectOption('LTC')
    await page.getByLabel('Your reference').fill('order-7')
    await press(page, 'Create invoice')
    await heading(page, 'order-7')
    await press(page, 'Pay too little')
    await heading(page, 'Waiting for the rest')
    const sandbox = page.getByRole('heading', { name: 'Pay it in the sandbox' })
    await sandbox.waitFor()
    await dashboard.database.owner.query(
      `update invoice set expires_at = now() where external_reference = 'order-7'`,
    )
    await heading(page, 'Action required')
    expect([await sandbox.count(), await page.getByRole('textbox').count()]).toEqual([0, 1])
    await open('/attention')
    await page.getByRole('link', { name: 'order-7' }).waitFor()
    await press(page, 'Accept as paid')
    await press(page, 'Mark as paid')
    await heading(page, 'Nothing to review')
    await open('/invoices')
    await page.getByLabel('Status').selectOption('expired')
    await heading(page, 'Nothing matches')
    expect(page.url()).toContain('status=expired')
    await page.getByLabel('Status').selectOption('paid')
    await page.getByRole('link', { name: 'order-7' }).waitFor()
    const [saved] = await Promise.all([page.waitForEvent('download'), press(page, 'Export CSV')])
    const rows = (await readFile(await saved.path(), 'utf8')).split('\r\n')
    expect(rows[0]).toMatch(/^id,status,usd_amount,asset,amount/)
    expect(rows[1]).toMatch(/^inv_\w+,paid,12\.50,LTC,.*,order-7,/)
    expect(rows.slice(2)).toEqual([''])
    await page.getByLabel('Search invoices').fill('order-9')
    await page.keyboard.press('Enter')
    await heading(page, 'Nothing matches')
    expect(shop.alerts).toEqual([])
  })

  test('an invoice is cancelled after a question that says what follows', async () => {
    const { page, open } = shop
    await open('/invoices')
    await press(page, 'New invoice')
    await page.getByLabel('Amount in US dollars').fill('3.00')
    await press(page, 'Create invoice')
    await press(page, 'Cancel invoice')
    await page.keyboard.press('Escape')
    await press(page, 'Cancel invoice')
    await press(page, 'Cancel the invoice')
    await page.getByText('Cancelled').first().waitFor()
  })

  test('a key is shown once, works, and is dead when it is revoked', async () => {
    const { page, open } = shop
    await open('/developers/keys')
    await page.getByRole('button', { name: 'New key' }).first().click()
    await page.getByLabel('Name').fill('Server')
    await press(page, 'Create key')
    const key = (await page.locator('.copy-field code').textContent()) ?? ''
    await press(page, 'I have copied it')
    const ask = () =>
      fetch(`${dashboard.url}/api/v1/invoices`, { headers: { authorization: `Bearer ${key}` } })
    expect((await ask()).status).toBe(200)
    expect(await page.content()).not.toContain(key)
    await press(page, 'Revoke Server')
    await press(page, 'Revoke it')
    await page.getByText('Revoked', { exact: true }).waitFor()
    await expect.poll(async () => (await ask()).status).toBe(401)
    await open('/developers/logs')
    await page
      .getByRole('row')
      .filter({ hasText: 'GET /api/v1/invoices' })
      .filter({ hasText: '200' })
      .filter({ hasText: 'Server' })
      .first()
      .waitFor()
  })

  test('a webhook endpoint is added, verified, sent an event, rotated, disabled, replayed and removed', async () => {
    const receiver = await startReceiver()
    const { page, open } = shop
    await open('/developers/awaiting')
    await page.getByText('There is no verified endpoint.').waitFor()
    // A browser's clock is that of all its pages: a month later is another browser, signed in as this one is.
    const month = await dashboard.browser.newContext({ storageState: await shop.context.storageState() })
    const later = await month.newPage()
    await later.clock.setFixedTime(Date.now() + 31 * 24 * 3_600_000)
    await later.goto(page.url())
    await later.getByRole('link', { name: 'invoice.created' }).first().click()
    await later.getByText('Attempts are kept for 30 days').waitFor()
    await month.close()
    await open('/developers/webhooks')
    await page.getByRole('button', { name: 'Add endpoint' }).first().click()
    await page.getByLabel('Endpoint URL').fill(receiver.url)
    await press(page, 'Create endpoint')
    expect(await page.locator('.copy-field code').textContent()).toMatch(/^whsec_/)
    expect(await axeFaults(page, 'dialog')).toEqual([])
    await press(page, 'I have copied it')
    await page.getByText('Verify the endpoint first.').waitFor()
    expect(await page.getByRole('button', { name: 'Send test event' }).isDisabled()).toBe(true)
    await photograph(page, 'endpoint-unverified')
    await press(page, 'Verify')
    await page.getByText('Enabled', { exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Send test event' }).isEnabled()).toBe(true)
    await press(page, 'Roll secret')
    await press(page, 'Roll secret now')
    await page.getByText('The old secret expires').waitFor()
    await press(page, 'I have copied it')
    await page.getByText('Two secrets sign every event until').waitFor()
    await open('/developers/awaiting')
    const since = await page.getByLabel('Since').inputValue()
    await page.getByLabel('Since').fill('2099-01-01T00:00')
    await press(page, 'Send all')
    await page.getByText('Nothing to send').waitFor()
    await page.getByLabel('Since').fill(since)
    await press(page, 'Send all')
    await page.getByText(/^\d+ (event is|events are) on (its|their) way/).waitFor()
    await heading(page, 'Everything was delivered')
    await expect.poll(() => receiver.heard).toContain('invoice.created')
    await open('/developers/events?type=invoice.created')
    await page.getByRole('link', { name: 'invoice.created' }).first().click()
    await heading(page, 'invoice.created')
    await page.getByText('200 ok').first().waitFor()
    await page.getByText(`Two secrets sign for ${receiver.url} now`).waitFor()
    const described = await page.locator('dt code').allTextContents()
    for (const name of ['paylink-signature', 'webhook-id', 'webhook-timestamp', 'webhook-signature'])
      expect(described).toContain(name)
    const before = receiver.heard.length
    await press(page, 'Send')
    await expect.poll(() => receiver.heard.length).toBeGreaterThan(before)
    await open('/developers/webhooks')
    await page.getByRole('link', { name: receiver.url }).click()
    await heading(page, receiver.url)
    await throttle(receiver.url)
    await page.reload()
    await page.getByText('Failing – retrying slowly').waitFor()
    await page.getByText('Every delivery has failed since').waitFor()
    expect(await axeFaults(page, 'main')).toEqual([])
    await press(page, 'Verify again')
    await page.getByText('Enabled', { exact: true }).waitFor()
    await press(page, 'Disable')
    await press(page, 'Disable endpoint')
    await page.getByText('Disabled', { exact: true }).waitFor()
    await press(page, 'Remove')
    await press(page, 'Remove endpoint')
    await heading(page, 'No endpoints yet')
    receiver.close()
  })

  test('an endpoint that the shop’s plugin requested is approved with one press', async () => {
    const receiver = await startReceiver()
    const { page, open } = shop
    await open('/developers/webhooks')
    const asked = await askFromPage(shop, 'POST', '/api/v1/webhook-endpoint-requests', {
      url: receiver.url,
      subscribed_events: ['invoice.paid'],
    })
    expect(asked).toMatchObject({ status: 201 })
    await page.reload()
    await page.getByText('Requested by API key').waitFor()
    await page.getByRole('link', { name: receiver.url }).click()
    await page.getByText('Your shop requested this endpoint').waitFor()
    await press(page, 'Approve and verify')
    await page.getByText('Enabled', { exact: true }).waitFor()
    await press(page, 'Remove')
    await press(page, 'Remove endpoint')
    await heading(page, 'No endpoints yet')
    receiver.close()
  })

  test('a link with a dynamic amount is made, opens a checkout for an order, and is turned off and on again', async () => {
    const { page, open } = shop
    await open('/links?mode=live')
    await page.getByText('sk_live_…').waitFor()
    await open('/links')
    await page.getByRole('button', { name: 'New link' }).first().click()
    await page.getByLabel('Product or description').fill('Tickets')
    await page.getByLabel('Let buyers choose the amount').check()
    await press(page, 'Create link')
    await heading(page, 'Tickets')
    await page.getByLabel('Order').fill('cart-1')
    await page.getByLabel('Total in US dollars').fill('20')
    await press(page, 'Create checkout')
    await page.getByText('Send the buyer here').waitFor()
    await press(page, 'Deactivate')
    await press(page, 'Undo')
    await page.getByRole('button', { name: 'Deactivate' }).waitFor()
  })

  test('a till is made with its items and staff code, is changed, and gets another code', async () => {
    const { page, open } = shop
    await open('/links')
    await page.getByRole('button', { name: 'New till' }).click()
    await page.getByLabel('Name').fill('Front counter')
    await page.getByLabel('Items').fill('Espresso 2.20\n\nBanana bread 3,900')
    await page.getByLabel('Tips in percent').fill('5%, 10')
    await press(page, 'Create till')
    await page.getByText('Line 3: Must be an amount such as "2.50"').waitFor()
    await page.getByLabel('Items').fill('Espresso 2.20\n\nBanana bread 3,90')
    await press(page, 'Create till')
    await page.getByText(/^[0-9]{4} [0-9]{4}$/).waitFor()
    await photograph(page, 'dashboard-till-code')
    await press(page, 'I have copied it')
    await heading(page, 'Front counter')
    await page.getByText('$3.90').waitFor()
    await photograph(page, 'dashboard-till')
    const choose = async (file: { name: string; mimeType: string; buffer: Buffer }) => {
      const chooser = page.waitForEvent('filechooser')
      await page.getByRole('button', { name: 'Add picture: Banana bread' }).focus()
      await page.keyboard.press('Enter')
      await (await chooser).setFiles(file)
    }
    await choose({ name: 'a.png', mimeType: 'image/png', buffer: Buffer.from('no picture') })
    await page.getByText('This file is no picture that can be read.').waitFor()
    const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const
    const photo = sharp({ create: { width: 900, height: 600, channels: 3, noise, background: '#000' } })
    await choose({ name: 'a.png', mimeType: 'image/png', buffer: await photo.png().toBuffer() })
    const remove = page.getByRole('button', { name: 'Remove picture: Banana bread' })
    await remove.waitFor()
    const shown = page.locator('.facts img')
    const width = () => shown.evaluate((image: HTMLImageElement) => image.naturalWidth)
    await expect.poll(width).toBeGreaterThan(100)
    await photograph(page, 'dashboard-till-picture')
    await press(page, 'Edit')
    expect(await page.getByLabel('Items').inputValue()).toBe('Espresso 2.20\nBanana bread 3.90')
    await page.getByLabel('Items').fill('Banana bread 4.10\nEspresso 2.20')
    await page.getByLabel('Tips in percent').fill('')
    await press(page, 'Save')
    await page.getByText('Not asked for').waitFor()
    await page.getByText('$4.10').waitFor()
    await remove.click()
    await page.getByRole('button', { name: 'Add picture: Banana bread' }).waitFor()
    expect(await shown.count()).toBe(0)
    await press(page, 'New staff code')
    await press(page, 'Create code')
    await page.getByText(/^[0-9]{4} [0-9]{4}$/).waitFor()
    await press(page, 'I have copied it')
    await page.getByRole('link', { name: 'Open till' }).waitFor()
  })

  test('live mode without networks says so, sells nothing, and leads to the command that connects them', async () => {
    const { page, open } = shop
    const banner = page.getByText('You cannot take real payments yet')
    for (const [path, action, count] of [
      ['/invoices', 'New invoice', 2],
      ['/links', 'New link', 2],
      ['/payouts', 'New payout', 1],
      ['/payouts/destinations', 'Add destination', 2],
    ] as const) {
      await open(`${path}?mode=live`)
      await banner.waitFor()
      await page.getByRole('heading', { name: /^No .* yet$/ }).waitFor()
      const buttons = await page.getByRole('button', { name: action }).all()
      expect(buttons.length).toBe(count)
      for (const button of buttons) expect(await button.isDisabled()).toBe(true)
      await open(path)
      await page.getByRole('button', { name: action }).first().waitFor()
      expect(await page.getByRole('button', { name: action }).first().isEnabled()).toBe(true)
      expect(await banner.count()).toBe(0)
    }
    await open('/balances?mode=live')
    await banner.waitFor()
    expect(await page.getByRole('button', { name: 'Create payout' }).isDisabled()).toBe(true)
    expect(await page.getByRole('link', { name: 'Create payout' }).count()).toBe(0)
    await open('/balances')
    await page.getByRole('link', { name: 'Create payout' }).waitFor()
    await open('/?mode=live')
    await page.getByRole('link', { name: 'What to set up' }).click()
    await heading(page, 'Go live')
    await page.getByText('No live network is connected yet').waitFor()
    for (const coin of ['Litecoin', 'Bitcoin', 'Ether on Ethereum', 'Solana', 'Ether on Base'])
      await page.getByLabel(coin, { exact: true }).uncheck()
    await page.getByText('You can choose these yourself.').waitFor()
    await photograph(page, 'going-live-folded')
    await page.getByText('Networks, keys, accounts and backups').click()
    await page.getByLabel('Two independent public providers').check()
    await photograph(page, 'going-live-open')
    expect(await widest(page, 'main .card, main .note, main .input, main figure')).toBeLessThanOrEqual(
      FORM_PX_MAX,
    )
    await page.getByLabel('Address that buyers open').fill('https://pay.example.com')
    const command = await page.locator('figure code').innerText()
    expect(command).toMatch(/^npm run -s paylink -- setup \\\n {2}--name /)
    expect(command).toMatch(
      / --mode live \\\n {2}--coins USDC_BASE \\\n {2}--base-url https:\/\/pay.example.com \\\n {2}--live-base-rpc-url public \\\n {2}--sign-up closed$/,
    )
  })

  test('coins and rules are saved, shown again and kept by the next invoice; a wrong value says what to do', async () => {
    const { page, open } = shop
    await open('/settings/coins')
    await page.getByLabel('Bitcoin').uncheck()
    await page.getByLabel('Default coin').selectOption('LTC')
    await press(page, 'Save')
    await page.getByText('Saved. New invoices follow it.').waitFor()
    await open('/settings/rules')
    await page.getByLabel('The coin amount is fixed for').selectOption('180')
    await page.getByLabel('A buyer may open an expired invoice again').check()
    expect(await page.getByLabel('Litecoin, Under $1,000').isVisible()).toBe(false)
    // A safety limit is not folded away.
    await page.getByRole('group', { name: 'Daily payout limit' }).getByLabel('Litecoin, in LTC').fill('2.5')
    await photograph(page, 'rules')
    await page.getByText('Advanced: confirmations').click()
    await photograph(page, 'rules-advanced')
    await page.getByLabel('Litecoin, Under $1,000').fill('0')
    await page.getByText('Advanced: confirmations').click()
    await press(page, 'Save')
    // What the browser refuses to send opens up, and so does what the server refuses.
    await page.getByLabel('Litecoin, Under $1,000').fill('2')
    const minimums = page.getByRole('group', { name: 'Smallest amounts' })
    await minimums.getByLabel('Litecoin, in LTC').fill('many')
    await page.getByText('Advanced: confirmations').click()
    await press(page, 'Save')
    await minimums.getByLabel('Litecoin, in LTC').fill('')
    await page.getByLabel('Ether on Base, Under $1,000').selectOption('finalized')
    await page.getByLabel('Too little: percent').fill('70')
    await press(page, 'Save')
    await page.getByText('Must be a percentage from').waitFor()
    expect(await page.locator('input:focus').getAttribute('aria-invalid')).toBe('true')
    await page.getByLabel('Too little: percent').fill('1')
    await page.getByLabel('Too little: at most, in US dollars').fill('2')
    await press(page, 'Save')
    await page.getByText('Saved. New invoices follow it.').waitFor()
    await open('/settings/rules')
    expect(await page.getByLabel('The coin amount is fixed for').inputValue()).toBe('180')
    expect(await page.getByLabel('A buyer may open an expired invoice again').isChecked()).toBe(true)
    expect(await page.getByLabel('Litecoin, Under $1,000').inputValue()).toBe('2')
    const limits = page.getByRole('group', { name: 'Daily payout limit' })
    expect(await limits.getByLabel('Litecoin, in LTC').inputValue()).toBe('2.5')
    expect(await page.getByLabel('Too little: at most, in US dollars').inputValue()).toMatch(/^2(\.0+)?$/)
    await open('/settings/coins')
    expect(await page.getByLabel('Default coin').inputValue()).toBe('LTC')
    expect(await page.getByLabel('Bitcoin').isChecked()).toBe(false)

    const invoice = await makeInvoice(shop, { usd_amount: '20' })
    expect(invoice).toMatchObject({ asset: 'LTC' })
    expect(Date.parse(invoice.expires_at) - Date.parse(invoice.created_at)).toBe(180 * 60_000)
    const paid = `/api/v1/test/invoices/${(await makeInvoice(shop, { usd_amount: '20', asset: 'ETH_BASE' })).id}`
    await askFromPage(shop, 'POST', `${paid}/pay`, { scenario: 'exact' })
    await dashboard.database.owner.query(
      `update invoice set expires_at = now() - interval '10 seconds' where id = $1`,
      [invoice.id],
    )
    const payments = async () => (await askFromPage(shop, 'GET', paid.replace('/test', ''))).body.payments
    await expect.poll(payments).toMatchObject([{ finality: 'finalized' }])
    await expect.poll(async () => (await fetch(invoice.checkout_url)).text()).toContain('id="reopen"')
    await open('/settings/audit')
    await page.getByText('Update payment rules').first().waitFor()
    const created = page.getByRole('row').filter({ hasText: 'Create invoice' }).first()
    expect(await created.getByRole('link').getAttribute('href')).toMatch(/\/invoices\/inv_/)
  })

  test('the suggested tolerance is filled in by one press, and holds only once it is saved', async () => {
    const other = await dashboard.signUp('Di Exchange')
    const { page, open } = other
    const rulesOf = async () => (await askFromPage(other, 'GET', '/api/v1/payment-rules')).body
    const use = page.getByRole('button', { name: 'Use suggestion' })
    const percent = page.getByLabel('Too little: percent')
    await open('/settings/rules')
    await use.waitFor()
    await photograph(page, 'rules-suggested-tolerance')
    expect(await axeFaults(page, 'main')).toEqual([])
    await use.press('Enter')
    await use.waitFor({ state: 'detached' })
    expect(await percent.evaluate((field) => field === document.activeElement)).toBe(true)
    const nothing = { percent: '0.00', cap_usd: '0.00' }
    expect(await rulesOf()).toMatchObject({ tolerance_under: nothing, tolerance_over: nothing })
    // Whoever would rather have none is offered it again.
    await percent.fill('0')
    await page.getByLabel('Too much: percent').fill('0')
    await use.click()
    await press(page, 'Save')
    await page.getByText('Saved. New invoices follow it.').waitFor()
    const suggested = { percent: '1.00', cap_usd: '1.00' }
    expect(await rulesOf()).toMatchObject({ tolerance_under: suggested, tolerance_over: suggested })
    await open('/settings/rules')
    await percent.waitFor()
    expect(await use.count()).toBe(0)
    await other.context.close()
  })

  test('the look of the buyers’ pages is saved, seen again, and there for the next buyer', async () => {
    const { page, open } = shop
    const logo = await sharp({ create: { width: 64, height: 24, channels: 3, background: '#0a6b8a' } })
      .png()
      .toBuffer()
    await open('/settings/branding')
    await page.getByLabel('Public business name').fill('Blue Heron')
    await page.getByLabel('A colour of your own').check()
    await page.getByLabel('Colour', { exact: true }).fill('#0a6b8a')
    await page.locator('.card', { hasText: 'Name and colour' }).getByRole('button', { name: 'Save' }).click()
    await page.getByText('Your buyers see it from now on.').waitFor()
    await page.getByLabel('Picture').setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: logo })
    await page.getByRole('img', { name: 'Your logo' }).waitFor()
    await open('/settings/branding')
    expect(await page.getByLabel('Public business name').inputValue()).toBe('Blue Heron')
    expect(await page.getByLabel('Colour', { exact: true }).inputValue()).toBe('#0a6b8a')
    const src = (await page.getByRole('img', { name: 'Your logo' }).getAttribute('src')) ?? ''
    expect((await fetch(dashboard.url + src)).headers.get('content-type')).toBe('image/webp')
    const { checkout_url } = await makeInvoice(shop, { usd_amount: '20', asset: 'LTC' })
    const html = await (await fetch(checkout_url)).text()
    expect(html).toContain('Blue Heron')
    expect(html).toContain(src)
  })

  test('who sells is set for receipts, while what is typed elsewhere on the page stays', async () => {
    const { page, open } = shop
    await open('/settings/branding')
    const card = page.locator('.card', { hasText: 'On receipts' })
    await page.getByLabel('Public business name').fill('Not saved yet')
    await card.getByLabel('Legal name').fill(' Blue Heron Ltd. ')
    await card.getByLabel('Postal address').fill('1 Marsh Lane \n\n  Norwich\n')
    await card.getByLabel('Tax or company number').fill('GB 123')
    await card.getByRole('button', { name: 'Save' }).click()
    await expect.poll(() => card.getByLabel('Postal address').inputValue()).toBe('1 Marsh Lane\nNorwich')
    expect(await page.getByLabel('Public business name').inputValue()).toBe('Not saved yet')
    await open('/settings/branding')
    expect(await card.getByLabel('Legal name').inputValue()).toBe('Blue Heron Ltd.')
    await card.getByLabel('Postal address').fill('1\n2\n3\n4\n5\n6')
    await card.getByRole('button', { name: 'Save' }).click()
    await card.locator('.fault', { hasText: 'Must be at most 5 lines' }).waitFor()
    // Said once, where typing corrects it.
    expect(await page.getByText('Must be at most 5 lines').count()).toBe(1)
    expect(await card.locator('textarea:focus').count()).toBe(1)
    await photograph(page, 'branding-seller')
  })

  test('a logo of 2000 pixels is made smaller in the browser, and taken', async () => {
    const { page, open } = shop
    const side = 2_000
    const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const
    const logo = await sharp({
      create: { width: side, height: side, channels: 3, background: '#888', noise },
    })
      .png()
      .toBuffer()
    expect(logo.length).toBeGreaterThan(1_000_000)
    await open('/settings/branding')
    const before = await page.getByRole('img', { name: 'Your logo' }).getAttribute('src')
    const sent = page.waitForRequest((request) => request.method() === 'PATCH')
    await page.getByLabel('Picture').setInputFiles({ name: 'logo.png', mimeType: 'image/png', buffer: logo })
    const { logo: base64 } = (await sent).postDataJSON()
    const { width = 0, height = 0 } = await sharp(Buffer.from(base64, 'base64')).metadata()
    expect(width).toBe(height)
    expect(width).toBeGreaterThan(50)
    expect(width).toBeLessThanOrEqual(144)
    await expect.poll(() => page.getByRole('img', { name: 'Your logo' }).getAttribute('src')).not.toBe(before)
    expect(await page.getByRole('main').getByRole('alert').count()).toBe(0)
  })

  test('at 900 pixels of height the navigation shows all of its pages without scrolling', async () => {
    const { page, open } = shop
    await open('/')
    const navigation = page.getByRole('navigation', { name: 'Pages' })
    const links = await navigation.getByRole('link').all()
    expect(links.length).toBeGreaterThan(18)
    for (const link of links) {
      const box = await link.boundingBox()
      expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThanOrEqual(900)
    }
    expect(await page.locator('.side').evaluate((side) => side.scrollHeight - side.clientHeight)).toBe(0)
  })

  test('each kind of message is switched off and on, and stays as it was left', async () => {
    const { page, open } = shop
    await open('/settings/security')
    const emails = page.locator('.card', { hasText: 'Emails to you' })
    await emails.getByRole('checkbox').first().waitFor()
    const states = () =>
      emails.getByRole('checkbox').evaluateAll((boxes) => boxes.map((box) => box.matches(':checked')))
    expect(await states()).toEqual([true, true, true, true])
    const set = async (wanted: boolean) => {
      for (const [at] of (await states()).entries()) {
        await emails.getByRole('checkbox').nth(at).click()
        await expect.poll(async () => (await states())[at]).toBe(wanted)
      }
      await open('/settings/security')
      await emails.getByRole('checkbox').first().waitFor()
      expect(await states()).toEqual([wanted, wanted, wanted, wanted])
    }
    await set(false)
    await set(true)
  })

  test('an invoice that the API makes stands in the open table without a reload', async () => {
    const { page, open } = shop
    await open('/invoices')
    await page.getByRole('link', { name: 'order-7' }).waitFor()
    await page.evaluate(() => document.body.setAttribute('data-not-reloaded', ''))
    await makeInvoice(shop, { usd_amount: '20', asset: 'LTC', external_reference: 'order-8' })
    await page.getByRole('link', { name: 'order-8' }).waitFor()
    expect(await page.locator('body[data-not-reloaded]').count()).toBe(1)
  })

  test('while a list loads, its table stands there with grey bars for rows', async () => {
    const { page, open } = shop
    for (const [path, asked] of [
      ['/invoices', '**/api/v1/invoices?*'],
      ['/developers/events', '**/api/v1/events*'],
    ] as const) {
      const release = await holdRequests(page, asked)
      await open(path)
      const table = page.locator('section.table-frame[aria-busy=true]')
      expect(await table.locator('tbody .skeleton').count()).toBeGreaterThan(5)
      expect(await page.locator('[role=progressbar], progress').count()).toBe(0)
      release()
      await table.waitFor({ state: 'detached' })
      await page.locator('tbody a').first().waitFor()
      expect(await page.locator('.skeleton').count()).toBe(0)
    }
  })

  test('by keyboard, the skip link leads past the navigation into the page', async () => {
    const { page, open } = shop
    await open('/invoices?mode=test')
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? '')
    // A page that arrives has focus on its title; what comes before it is the navigation.
    for (let press = 0; press < 60 && (await focused()) !== 'Skip to the page'; press++)
      await page.keyboard.press('Shift+Tab')
    expect(await focused()).toBe('Skip to the page')
    expect(await page.getByRole('link', { name: 'Skip to the page' }).boundingBox()).toMatchObject({ y: 8 })
    await page.keyboard.press('Enter')
    await page.keyboard.press('Tab')
    expect(await page.evaluate(() => document.querySelector('#page')?.contains(document.activeElement))).toBe(
      true,
    )
    await page.getByRole('heading', { level: 1, name: 'Invoices' }).waitFor()
  })
})

/** An invoice of the visitor's shop, by a request to the API. */
async function makeInvoice(visitor: Visitor, body: object) {
  const made = await askFromPage(visitor, 'POST', '/api/v1/invoices', body)
  expect(made.status).toBe(201)
  return made.body
}

describe('an owner with a second factor', () => {
  let one: Visitor
  let backupCodes: readonly string[]
  beforeAll(async () => {
    one = await dashboard.signUp('Cy Owner')
    await dashboard.writeSealed('update person set email_verified = true')
    backupCodes = (await turnOnSecondFactor(one)).backupCodes
    expect(backupCodes.length).toBeGreaterThan(5)
  })
  afterAll(() => one.context.close())

  test.each([
    ['New backup codes', 'New backup codes'],
    ['Turn off', 'Turn the authenticator app off?'],
  ])('finds the window of %s accessible', async (button, title) => {
    const { page, open } = one
    await open('/settings/security')
    await press(page, button)
    await page.getByRole('dialog', { name: title }).waitFor()
    expect(await axeFaults(page, 'dialog')).toEqual([])
  })

  test('finds it in the audit log, and what was refused in words', async () => {
    const { page, open } = one
    const refused = await page.evaluate(async () => {
      const response = await fetch('/api/auth/two-factor/disable', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ password: 'not the password' }),
      })
      return response.status
    })
    expect(refused).toBe(400)
    await open('/settings/audit?mode=live')
    const row = (action: string) => page.getByRole('row').filter({ hasText: action }).first()
    await row('Set up authenticator app').filter({ hasText: 'Done' }).waitFor()
    await row('Turn off authenticator app').filter({ hasText: 'Refused' }).waitFor()
    await row('Turn off authenticator app').getByText('Invalid password', { exact: true }).waitFor()
    expect(await page.getByRole('main').innerText()).not.toMatch(/INVALID_PASSWORD|_refused/)
    await photograph(page, 'audit-log-second-factor')
  })

  test('is asked for it at sign-in', async () => {
    const { page, open } = one
    await one.context.clearCookies()
    await open('/sign-in?next=%2Fdevelopers%2Fkeys%3Fmode%3Dlive')
    await page.getByLabel('Email').fill(emailOf('Cy Owner'))
    await page.getByLabel('Password').fill(PASSWORD)
    await press(page, 'Sign in')
    await heading(page, 'Second factor')
    await press(page, 'Use a backup code')
    await page.getByLabel('One of your backup codes').fill(backupCodes[0] ?? '')
    await press(page, 'Confirm')
    await heading(page, 'API keys')
    expect(page.url()).toContain('mode=live')
  })

  test('is asked for it by an accessible window for a live key, and the request goes on after it', async () => {
    const { page } = one
    await dashboard.forgetSecondFactors()
    await page.getByRole('button', { name: 'New key' }).first().click()
    await page.getByLabel('Name').fill('Live server')
    await press(page, 'Create key')
    const asked = page.getByRole('dialog', { name: 'Confirm that it is you' })
    await asked.getByLabel('Code from your authenticator app').waitFor()
    expect(await axeFaults(page, 'dialog')).toEqual([])
    await stepUp(one, backupCodes[1])
    await expect.poll(() => page.locator('.copy-field code').textContent()).toMatch(/^sk_live_/)
  })
})

test('a passkey is added, and signs in', async () => {
  const one = await dashboard.signUp('Di Keyholder')
  const { page, open } = one
  await addAuthenticator(page)
  // A passkey opens an account for good: only whoever reads its mail may add one.
  await open(await emailLink(dashboard, emailOf('Di Keyholder'), 'verify-email'))
  await press(page, 'Confirm my address')
  await page.getByText('Your address is confirmed.').waitFor()
  await open('/settings/security')
  await page.getByLabel('Name of this device').fill('Laptop')
  await press(page, 'Add a passkey')
  await page.getByText('The passkey is added.').waitFor()
  expect(one.alerts).toEqual([])
  await page.getByRole('button', { name: 'Sign out' }).click()
  await heading(page, 'Sign in')
  // What the page read again in the moment of signing out was refused, and a browser logs that.
  one.alerts.length = 0
  await press(page, 'Sign in with a passkey')
  await heading(page, 'Home')
  expect(one.alerts).toEqual([])
  await one.context.close()
})

test('an owner sees their sign-ins and ends another; its browser asks to sign in again', async () => {
  const one = await dashboard.signUp('Ed Twice')
  const other = await dashboard.visitor()
  await signIn(other, { email: emailOf('Ed Twice'), password: PASSWORD })
  await one.open('/settings/security')
  await press(one.page, 'End it')
  await one.page.getByText('That sign-in is ended.').waitFor()
  await other.page.getByRole('dialog', { name: 'Your session expired' }).waitFor()
  await press(other.page, 'Leave this page')
  await heading(other.page, 'Sign in')
  await one.context.close()
  await other.context.close()
})

test('while nobody can say who is signed in, the page says so, asks nobody to sign in, and recovers alone', async () => {
  const one = await dashboard.signUp('Fay Patient')
  const { page } = one
  const away = { code: 'UNAVAILABLE', message: 'Paylink cannot answer just now. Try again in a moment.' }
  const session = '**/api/auth/get-session'
  await page.route(session, (route) => route.fulfill({ status: 503, json: away }))
  await page.goto(`${dashboard.url}/dashboard/invoices`)
  await heading(page, 'This page could not be shown')
  await page.getByText(away.message).waitFor()
  expect(page.url()).toContain('/dashboard/invoices')
  await page.unroute(session)
  await heading(page, 'Invoices')
  await one.context.close()
})

test('our pages are shown in no frame; their files are cached for a year under names of their content', async () => {
  const answer = await fetch(`${dashboard.url}/dashboard/invoices`)
  expect(answer.headers.get('content-security-policy')).toMatch(
    /default-src 'none'.*script-src 'self'.*frame-ancestors 'none'/,
  )
  const path = /src="([^"]+\.js)"/.exec(await answer.text())?.[1] ?? ''
  const file = await fetch(dashboard.url + path, { headers: { 'accept-encoding': 'br' } })
  expect(file.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  expect(file.headers.get('content-encoding')).toBe('br')
  expect((await fetch(`${dashboard.url}/dashboard/assets/none.js`)).status).toBe(404)
  expect((await fetch(`${dashboard.url}/dashboard/`, { method: 'POST' })).status).toBe(405)
})

test(`what every page needs is at most ${BUDGET_BYTES / 1_000} KB, compressed`, async () => {
  const html = await readFile(new URL('index.html', BUILT), 'utf8')
  const first = [...html.matchAll(/(?:src|href)="\/dashboard\/(assets\/[^"]+)"/g)].map(
    (match) => match[1] ?? '',
  )
  expect(first.length).toBeGreaterThan(1)
  const sizes = await Promise.all(
    first.map(async (name) => gzipSync(await readFile(new URL(name, BUILT))).length),
  )
  const total = sizes.reduce((sum, size) => sum + size, 0)
  console.info(
    `the dashboard's first load: ${total} bytes by gzip, of ${(await readdir(new URL('assets/', BUILT))).length} files in all`,
  )
  expect(total).toBeLessThan(BUDGET_BYTES)
})

/** The endpoint has failed often, and something still waits for it. */
async function throttle(url: string): Promise<void> {
  await dashboard.database.owner.query(
    `with endpoint as (select merchant_id, id, livemode from webhook_endpoint where url = $1),
     waiting as (
       insert into delivery (merchant_id, id, livemode, endpoint_id, event_id, due_at, give_up_at)
       select w.merchant_id, 'dlv_' || substr(e.id, 5), w.livemode, w.id, e.id, now() + interval '1 hour',
         now() + interval '1 day'
       from endpoint w cross join lateral (
         select id from event where merchant_id = w.merchant_id and livemode = w.livemode limit 1) e)
     insert into delivery_lane (merchant_id, endpoint_id, livemode, failures, failing_since, next_at)
     select merchant_id, id, livemode, 10, now() - interval '3 hours', now() from endpoint
     on conflict (merchant_id, endpoint_id) do update
     set failures = 10, failing_since = excluded.failing_since, next_at = now()`,
    [url],
  )
}
