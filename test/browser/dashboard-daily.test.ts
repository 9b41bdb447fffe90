// @module-tag chromium
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { holdRequests, photograph } from '../support/browser.ts'
import { askFromPage, type Dashboard, startDashboard, type Visitor } from '../support/dashboard.ts'
import { axeContrastFaults, overflow, widest } from '../support/page-checks.ts'
import { openLink } from '../support/pay-link.ts'
import { decodeQr, readQr } from '../support/read-qr.ts'
import { randomLitecoinAddress } from '../support/resources.ts'

let dashboard: Dashboard
let shop: Visitor
beforeAll(async () => {
  dashboard = await startDashboard({ WEBHOOK_ALLOW_PRIVATE: '1' })
  shop = await dashboard.signUp('Ivy Keeper')
})
afterAll(() => dashboard?.close())

const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { name }).waitFor()
const make = async (body: object) => (await askFromPage(shop, 'POST', '/api/v1/invoices', body)).body

test('an invoice is found by a click anywhere in its row, shared three ways, and duplicated', async () => {
  const { page, open } = shop
  const { id, checkout_url } = await make({
    usd_amount: '49.99',
    asset: 'LTC',
    customer_email: 'ann@example.com',
    external_reference: 'order-1',
  })
  await open('/invoices')
  await page.getByRole('row').filter({ hasText: 'order-1' }).getByText('$49.99').click()
  await heading(page, '$49.99 from ann@example.com')
  expect(page.url()).toContain(id)
  await press(page, 'Copy link')
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(checkout_url)
  const mail = new URL((await page.getByRole('link', { name: 'Email' }).getAttribute('href')) ?? '')
  expect(decodeURIComponent(mail.pathname)).toBe('ann@example.com')
  expect(mail.searchParams.get('body')).toBe(checkout_url)
  expect(mail.searchParams.get('subject')).toBe('Invoice of $49.99')
  await press(page, 'QR code')
  await page.locator('dialog .qr').waitFor()
  expect(await readQr(page, 'dialog .qr')).toBe(checkout_url)
  await page.keyboard.press('Escape')
  await press(page, 'Duplicate')
  await page.getByRole('dialog', { name: 'Duplicate invoice' }).waitFor()
  expect(await page.getByLabel('Amount in US dollars').inputValue()).toBe('49.99')
  await page.getByLabel('Your reference').fill('order-2')
  await press(page, 'Create invoice')
  await expect.poll(() => page.url()).not.toContain(id)
  await page.getByText('order-2', { exact: true }).filter({ visible: true }).first().waitFor()
  await heading(page, '$49.99 from ann@example.com')
})

test('a note is kept for the team, and nothing that was typed is lost while the page is read again', async () => {
  const { page, open } = shop
  const { id, checkout_url } = await make({ usd_amount: '5', asset: 'LTC' })
  await open(`/invoices/${id}`)
  const note = page.getByRole('textbox', { name: 'Only your team sees it' })
  await note.fill('Called on Monday.\nWants a bill.')
  const again = page.waitForResponse((response) => response.url().endsWith(`/invoices/${id}`))
  await again
  expect(await note.inputValue()).toBe('Called on Monday.\nWants a bill.')
  await press(page, 'Save note')
  await page.getByText('Note saved').waitFor()
  await page.getByText('Ivy Keeper, ').waitFor()
  await photograph(page, 'invoice-note')
  await page.setViewportSize({ width: 320, height: 900 })
  expect(await overflow(page)).toBe(0)
  await photograph(page, 'invoice-note-phone')
  await page.setViewportSize({ width: 1280, height: 900 })
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await axeContrastFaults(page)).toEqual([])
  await photograph(page, 'invoice-note-dark')
  await page.emulateMedia({ colorScheme: 'light' })
  await page.reload()
  await expect.poll(() => note.inputValue()).toBe('Called on Monday.\nWants a bill.')
  expect(await (await fetch(checkout_url)).text()).not.toContain('Monday')
  await note.fill('')
  await press(page, 'Save note')
  await expect.poll(() => page.getByText('Ivy Keeper, ').count()).toBe(0)
})

test('filters are kept under a name, chosen by it, removed, and brought back', async () => {
  const { page, open } = shop
  const views = page.getByRole('navigation', { name: 'Saved views' })
  await open('/invoices')
  expect(await views.count()).toBe(0)
  await page.getByRole('combobox', { name: 'Status' }).selectOption('awaiting_payment')
  await page.getByRole('combobox', { name: 'Coin' }).selectOption('LTC')
  await press(page, 'Save view')
  await page.getByLabel('Name').fill('Open in LTC')
  await photograph(page, 'saved-view-dialog')
  await press(page, 'Save')
  await page.getByText('View saved').waitFor()
  await open('/invoices')
  await views.getByRole('link', { name: 'Open in LTC' }).click()
  await expect.poll(() => new URL(page.url()).search).toBe('?status=awaiting_payment&asset=LTC')
  expect(await views.getByRole('link').getAttribute('aria-current')).toBe('page')
  expect(await page.getByRole('combobox', { name: 'Coin' }).inputValue()).toBe('LTC')
  await photograph(page, 'saved-view')
  await page.setViewportSize({ width: 320, height: 900 })
  expect(await overflow(page)).toBe(0)
  const field = await page.getByLabel('Created before').boundingBox()
  expect((field?.x ?? 0) + (field?.width ?? 0)).toBeLessThanOrEqual(304)
  await page.emulateMedia({ colorScheme: 'dark' })
  expect(await axeContrastFaults(page)).toEqual([])
  await photograph(page, 'saved-view-phone-dark')
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize({ width: 1280, height: 900 })
  // Another list has views of its own.
  await open('/payouts')
  expect(await views.count()).toBe(0)
  await open('/invoices?asset=LTC&status=awaiting_payment')
  await press(page, 'Remove view')
  await expect.poll(() => views.getByRole('link').count()).toBe(0)
  await press(page, 'Undo')
  await views.getByRole('link', { name: 'Open in LTC' }).waitFor()
})

test('a payment link is shared and duplicated', async () => {
  const { page, open } = shop
  await open('/links')
  await page.getByRole('row').filter({ hasText: 'Coffee' }).getByText('Active').click()
  await heading(page, 'Coffee')
  // One for the link and one for the embed code.
  expect(await page.getByRole('button', { name: 'Copy' }).count()).toBe(2)
  await photograph(page, 'link')
  await press(page, 'QR code')
  await page.locator('dialog .qr').waitFor()
  const url = await readQr(page, 'dialog .qr')
  expect(url).toMatch(/\/l\/pl_/)
  await photograph(page, 'link-qr')
  const [file] = await Promise.all([page.waitForEvent('download'), press(page, 'Download PNG')])
  expect(file.suggestedFilename()).toBe('QR code Coffee, for example.png')
  expect(await decodeQr(page, await readFile(await file.path(), 'base64'))).toBe(url)
  await page.keyboard.press('Escape')
  await press(page, 'Duplicate')
  await page.getByLabel('Product or description').fill('Cake')
  await press(page, 'Create link')
  await heading(page, 'Cake')
})

test('a link and a key are found past the newest hundred, on their pages and from everywhere', async () => {
  const { page, open } = shop
  const name = 'Winter coat'
  const link = (await askFromPage(shop, 'POST', '/api/v1/payment-links', { name, usd_amount: '90' })).body
  await dashboard.database.owner.query(
    `insert into payment_link (merchant_id, id, livemode, slug, name, allow_dynamic_amount, active, created_at)
     select merchant_id, 'plink_7zz' || lpad(n::text, 23, '0'), false, 'pl_' || lpad(n::text, 10, '0'), 'Newer', true, true,
       now() from payment_link, generate_series(1, 120) n where id = $1`,
    [link.id],
  )
  await open('/links')
  expect(await page.getByText(name).count()).toBe(0)
  await page.getByRole('searchbox', { name: 'Search payment links' }).fill('winter')
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name }).waitFor()
  expect(await page.getByRole('row').count()).toBe(2)
  await photograph(page, 'links-searched')
  await page.getByRole('searchbox', { name: 'Search payment links' }).fill('summer')
  await page.keyboard.press('Enter')
  await heading(page, 'Nothing matches')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Search everything' }).fill('coat')
  await page.getByRole('option', { name }).click()
  await heading(page, name)
  await open('/developers/keys?q=nothing')
  await heading(page, 'Nothing matches')
  await photograph(page, 'keys-nothing-found')
  await open('/payouts?q=nothing')
  await heading(page, 'Nothing matches')
  await photograph(page, 'payouts-nothing-found')
  await dashboard.database.owner.query(`delete from payment_link where name = 'Newer'`)
})

test('a list is exported as filtered, all pages of it, harmless to a spreadsheet, and can be stopped', async () => {
  const { page, open } = shop
  const like = (await askFromPage(shop, 'POST', '/api/v1/payment-links', { name: 'Bulk', usd_amount: '1' }))
    .body
  await dashboard.database.owner.query(
    `insert into payment_link (merchant_id, id, livemode, slug, name, usd_cents, allow_dynamic_amount, active, created_at)
     select merchant_id, 'plink_7zz' || lpad(n::text, 23, '0'), false, 'pl_' || lpad(n::text, 10, '0'),
       '=HYPERLINK("http://evil.example","bulk ' || n || '")', 100, false, true, now()
     from payment_link, generate_series(1, 250) n where id = $1`,
    [like.id],
  )
  const saved = async () => {
    const [download] = await Promise.all([page.waitForEvent('download'), press(page, 'Export CSV')])
    return (await readFile(await download.path(), 'utf8')).split('\r\n')
  }
  const dynamicLink = { name: 'One an order', allow_dynamic_amount: true }
  const dynamic = (await askFromPage(shop, 'POST', '/api/v1/payment-links', dynamicLink)).body
  const destination = { asset: 'LTC', address: randomLitecoinAddress('regtest'), name: 'Cold wallet' }
  for (const [path, body] of [
    [`/payment-links/${dynamic.id}/checkout-sessions`, { order_reference: 'order-1', usd_amount: '5.00' }],
    ['/payout-destinations', destination],
    ['/webhook-endpoints', { url: 'https://shop.example/webhooks', subscribed_events: ['*'] }],
  ] as const)
    expect((await askFromPage(shop, 'POST', `/api/v1${path}`, body)).status, path).toBe(201)
  await open('/links?q=bulk')
  const rows = await saved()
  await page.getByText('251 rows exported.').waitFor()
  expect(rows).toHaveLength(253)
  expect(rows[0]).toBe(
    'id,name,usd_amount,asset,allow_dynamic_amount,active,url,created_at,price_amount,price_currency',
  )
  expect(rows[1]).toContain(`,"'=HYPERLINK(""http://evil.example"",""bulk 250"")",1.00,`)
  expect(new Set(rows).size).toBe(253)
  await open('/links?q=bulk%20250')
  expect(await saved()).toHaveLength(3)
  // The second page waits until it is stopped: nothing is saved.
  await open('/links?q=bulk')
  const release = await holdRequests(page, '**/payment-links?*starting_after=*limit=100*')
  const releaseToo = await holdRequests(page, '**/payment-links?*limit=100*starting_after=*')
  await press(page, 'Export CSV')
  const stop = page.getByRole('button', { name: 'Stop export (100 rows)' })
  await stop.waitFor()
  await photograph(page, 'export-under-way')
  let downloads = 0
  page.on('download', () => downloads++)
  await stop.click()
  await page.getByRole('button', { name: 'Export CSV' }).waitFor()
  release()
  releaseToo()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  for (const [path, head] of [
    ['/developers/events', 'id,event_type,resource_id'],
    ['/developers/logs', 'id,request_id,method,path'],
    ['/developers/keys', 'id,name,last_characters'],
    ['/settings/audit', 'number,actor,action'],
    ['/developers/webhooks', 'id,url,status'],
    ['/payouts/destinations', 'id,name,asset,address'],
    [`/links/${dynamic.id}`, 'id,order_reference,usd_amount'],
  ] as const) {
    await open(path)
    await page.locator('tbody a, tbody td').first().waitFor()
    const [titles = '', first = ''] = await saved()
    expect(titles.startsWith(head), path).toBe(true)
    expect(first, path).not.toBe('')
  }
  expect(downloads).toBe(7)
  await dashboard.database.owner.query(`delete from payment_link where name like '=HYPERLINK%'`)
})

test('what needs a person is counted beside its page; a part payment waits for its buyer first', async () => {
  const { page, open } = shop
  const { id } = await make({ usd_amount: '20', asset: 'LTC', external_reference: 'order-short' })
  await askFromPage(shop, 'POST', `/api/v1/test/invoices/${id}/pay`, { scenario: 'under' })
  const status = async () => (await askFromPage(shop, 'GET', `/api/v1/invoices/${id}`)).body.status
  await expect.poll(status).toBe('partially_paid')
  await open('/attention')
  await heading(page, 'Nothing to review')
  expect(await page.locator('.count').count()).toBe(0)
  const badge = page.getByRole('row').filter({ hasText: 'order-short' }).locator('.badge:visible')
  await open('/invoices')
  expect(await badge.textContent()).toBe('Waiting for the rest')
  await open(`/invoices/${id}`)
  await heading(page, 'Waiting for the rest')
  await page.getByText('Link to pay the rest').waitFor()
  await page.getByText('Accept what came, without the rest').click()
  expect(await page.getByRole('button', { name: 'Dismiss' }).count()).toBe(0)
  await photograph(page, 'invoice-waiting-for-the-rest')
  await dashboard.database.owner.query(`update invoice set expires_at = now() where id = $1`, [id])
  await heading(page, 'Action required')
  await page.locator('.lead .badge', { hasText: 'Partially paid' }).waitFor()
  await page.getByText('was still missing at the deadline').waitFor()
  await photograph(page, 'invoice-action-required')
  await open('/invoices')
  expect(await badge.textContent()).toBe('Partially paid')
  await open('/attention')
  await heading(page, '$20.00 for order-short')
  await page.getByRole('link', { name: 'Needs review 1 waiting' }).waitFor()
  expect(await widest(page, 'main .copy-field')).toBeLessThanOrEqual(640)
  await press(page, 'Dismiss')
  await page.getByText('Your server is not notified').waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'Dismiss', exact: true }).click()
  await heading(page, 'Nothing to review')
  const asked = page.waitForResponse((response) => response.url().includes('attention=open&q='))
  await open(`/invoices/${id}`)
  await asked
  await page.locator('.lead .badge', { hasText: 'Partially paid' }).waitFor()
  expect(await page.getByText('Action required').count()).toBe(0)
})

test('an address that is no page keeps the menu and leads home', async () => {
  const { page, open } = shop
  await open('/settings/nowhere?mode=live')
  await heading(page, 'Page not found')
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Invoices' }).waitFor()
  await photograph(page, 'page-not-found')
  await page.getByRole('link', { name: 'Go to the home page' }).click()
  await heading(page, 'Home')
  expect(new URL(page.url()).search).toBe('?mode=live')
})

test('a price in the shop’s currency is shown first, beside its dollars, and is in the export', async () => {
  const { page, open } = shop
  const price = { amount: '4999', currency: 'JPY' }
  const { id } = await make({ price, asset: 'LTC', external_reference: 'order-yen' })
  await open('/invoices?q=order-yen')
  const row = page.getByRole('row').filter({ hasText: 'order-yen' })
  await row.getByText('¥4,999').waitFor()
  await row.getByText('$33.50').waitFor()
  const [download] = await Promise.all([page.waitForEvent('download'), press(page, 'Export CSV')])
  const [titles = '', first = ''] = (await readFile(await download.path(), 'utf8')).split('\r\n')
  expect(titles.split(',').slice(-5)).toEqual([
    'review_reason',
    'price_amount',
    'price_currency',
    'price_usd_per_unit',
    'description',
  ])
  expect(first.split(',').slice(-4)).toEqual(['4999', 'JPY', '0.0067', ''])
  await photograph(page, 'invoices-price')
  await open(`/invoices/${id}`)
  await heading(page, '¥4,999 for order-yen')
  await page.getByText('0.0067 US dollars (sandbox)').waitFor()
  await page.getByText('$33.50').first().waitFor()
  expect(await axeContrastFaults(page)).toEqual([])
  await photograph(page, 'invoice-price')
  await page.setViewportSize({ width: 320, height: 900 })
  expect(await overflow(page)).toBe(0)
  await photograph(page, 'invoice-price-phone')
  await open('/invoices?q=order-yen')
  await row.getByText('¥4,999').waitFor()
  expect(await overflow(page)).toBe(0)
  await photograph(page, 'invoices-price-phone')
  await page.setViewportSize({ width: 1280, height: 900 })
  // The dollars of then are not what it costs now: another one has the price again.
  await open(`/invoices/${id}`)
  await press(page, 'Duplicate')
  expect(await page.getByLabel('Amount in JPY').inputValue()).toBe('4999')
  await press(page, 'Create invoice')
  await heading(page, /^Invoice of ¥4,999$/)
})

test('a link and an order are priced in the shop’s currency, and a fault stands at its field', async () => {
  const { page, open } = shop
  await open('/links')
  await page.getByRole('button', { name: 'New link' }).first().click()
  await page.getByLabel('Product or description').fill('Workshop')
  await page.getByLabel('Let buyers choose the amount').check()
  await page.getByLabel('Currency', { exact: true }).selectOption('EUR')
  await page.getByLabel('Amount in EUR').fill('0.10')
  await press(page, 'Create link')
  await page.locator('.fault').waitFor()
  expect(await page.getByLabel('Amount in EUR').getAttribute('aria-invalid')).toBe('true')
  await page.getByLabel('Amount in EUR').fill('24.90')
  await photograph(page, 'new-link-price')
  await page.setViewportSize({ width: 320, height: 900 })
  expect(await overflow(page)).toBe(0)
  await photograph(page, 'new-link-price-phone')
  await page.setViewportSize({ width: 1280, height: 900 })
  await press(page, 'Create link')
  await heading(page, 'Workshop')
  await page.getByText('€24.90 suggested; the buyer can enter another').waitFor()
  await page.getByLabel('Order').fill('seat-1')
  await page.getByLabel('Currency', { exact: true }).selectOption('JPY')
  await page.getByLabel('Total in JPY').fill('5000')
  await press(page, 'Create checkout')
  await page.getByText('Send the buyer here').waitFor()
  await page.getByRole('row').filter({ hasText: 'seat-1' }).getByText('¥5,000').waitFor()
  expect(await axeContrastFaults(page)).toEqual([])
  await photograph(page, 'link-price')
  await open('/links')
  await page.getByRole('row').filter({ hasText: 'Workshop' }).getByText('€24.90').waitFor()
})

test('a link for tips has limits and suggestions, its faults at their fields, and so has its copy', async () => {
  const { page, open } = shop
  await open('/links')
  await page.getByRole('button', { name: 'New link' }).first().click()
  await page.getByLabel('Product or description').fill('Tips')
  await page.getByLabel('Let buyers choose the amount').check()
  await page.getByLabel('Currency', { exact: true }).selectOption('EUR')
  await page.getByLabel('Minimum in EUR').fill('2')
  await page.getByLabel('Maximum in EUR').fill('1')
  // A comma may stand for decimals: €2.50 never becomes €2 and €50.
  const suggested = page.getByLabel('Suggested amounts in EUR')
  for (const [typed, isTaken] of [
    ['2,50, 5', false],
    ['5,10,25', false],
    ['2,50', false],
    ['2.50, 5', true],
  ] as const) {
    await suggested.fill(typed)
    expect(await suggested.evaluate((field: HTMLInputElement) => field.checkValidity())).toBe(isTaken)
  }
  await page.getByLabel('Suggested amounts in EUR').fill('5, 10.50')
  await press(page, 'Create link')
  await page.locator('.fault').waitFor()
  expect(await page.getByLabel('Maximum in EUR').getAttribute('aria-invalid')).toBe('true')
  await page.getByLabel('Maximum in EUR').fill('500')
  await photograph(page, 'new-link-tips')
  await page.setViewportSize({ width: 320, height: 900 })
  expect(await overflow(page)).toBe(0)
  await photograph(page, 'new-link-tips-phone')
  await page.setViewportSize({ width: 1280, height: 900 })
  await press(page, 'Create link')
  await heading(page, 'Tips')
  await page.getByText('from €2.00, up to €500.00, suggested: €5.00, €10.50').waitFor()
  expect(await axeContrastFaults(page)).toEqual([])
  await press(page, 'Duplicate')
  expect(await page.getByLabel('Suggested amounts in EUR').inputValue()).toBe('5.00, 10.50')
  // The word of the first one may still stand there.
  const copied = page.waitForResponse(
    (response) => response.url().endsWith('/payment-links') && response.request().method() === 'POST',
  )
  await press(page, 'Create link')
  expect((await copied).status()).toBe(201)
})

test('a shop with a currency of its own begins with it, and reads its dollars in it', async () => {
  const { page, open } = shop
  await open('/settings/branding')
  const card = page.locator('section').filter({ has: page.getByRole('heading', { name: 'Your currency' }) })
  await card.getByLabel('Currency', { exact: true }).selectOption('SEK')
  await photograph(page, 'branding-currency')
  expect(await page.locator('.copy-field').filter({ hasText: 'Shop ID' }).textContent()).toMatch(
    /mer_[0-9a-z]{26}/,
  )
  await card.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Saved. New invoices, links and orders here begin with it.').waitFor()
  await open('/')
  await page.getByText(/about SEK\s[\d,.]+, last 30 days/).waitFor()
  await photograph(page, 'home-currency')
  await open('/balances')
  await page.getByText(/available, about SEK\s[\d,.]+, at current prices/).waitFor()
  // Money in a coin that is turned off stays in sight, and is counted; an empty coin does not.
  const setCoins = (coins: readonly string[] | null) =>
    askFromPage(shop, 'PATCH', '/api/v1/payment-rules', { accepted_assets: coins })
  await setCoins(['BTC'])
  await open('/balances')
  await page.getByText(/available, about SEK\s[\d,.]+, at current prices$/).waitFor()
  expect(await page.locator('.tiles').getByText('Ether on Arbitrum One').count()).toBe(0)
  await page.locator('.tiles').getByText('Litecoin').waitFor()
  await setCoins(null)
  await open('/invoices')
  await page.getByRole('button', { name: 'New invoice' }).first().click()
  await page.getByLabel('Amount in SEK').fill('499,50')
  await press(page, 'Create invoice')
  await heading(page, /^Invoice of SEK\s499\.50$/)
  await askFromPage(shop, 'PATCH', '/api/v1/merchant', { home_currency: null })
})

test('dollars of any issuer are one choice of a new invoice, which shows each rate and address', async () => {
  const { page, open } = shop
  const accepted = ['USDC_BASE', 'USDC_SOLANA', 'USDT_ARBITRUM']
  await askFromPage(shop, 'PATCH', '/api/v1/payment-rules', { accepted_assets: accepted })
  await open('/settings/coins')
  await page.getByLabel('Count each dollar token as one dollar').check()
  await photograph(page, 'coins-dollars')
  const saved = page.waitForResponse(
    (response) => response.url().endsWith('/payment-rules') && response.request().method() === 'PATCH',
  )
  await press(page, 'Save')
  expect((await (await saved).json()).stablecoins_at_par).toBe(true)
  await open('/invoices')
  await page.getByRole('button', { name: 'New invoice' }).first().click()
  await page.getByLabel('Amount in US dollars').fill('25')
  await page.getByLabel('Default coin').selectOption({ label: 'US dollars · USDC, USDT on any network' })
  await press(page, 'Create invoice')
  await heading(page, /^Invoice of \$25\.00$/)
  await page
    .getByText(/^\$1\.00 \(/)
    .first()
    .waitFor()
  expect(await page.getByText(/^Rate of USD[CT]$/).count()).toBe(2)
  const addresses = page.getByText('No payments received at').locator('code')
  expect(await addresses.count()).toBe(2)
  expect(await overflow(page)).toBe(0)
  await photograph(page, 'invoice-dollars')
  await askFromPage(shop, 'PATCH', '/api/v1/payment-rules', { accepted_assets: null })
})

test('an amount of USDC is shown with its cents', async () => {
  const { page, open } = shop
  const { id } = await make({ usd_amount: '5.50', asset: 'USDC_BASE' })
  await open(`/invoices/${id}`)
  await page.getByText('5.50 USDC on Base').first().waitFor()
  await page.getByText('0.00 USDC on Base').first().waitFor()
  await photograph(page, 'invoice-usdc')
})

test('an overpaid invoice says by how much', async () => {
  const { page, open } = shop
  const { id } = await make({ usd_amount: '20', asset: 'LTC' })
  await askFromPage(shop, 'POST', `/api/v1/test/invoices/${id}/pay`, { scenario: 'over' })
  const status = async () => (await askFromPage(shop, 'GET', `/api/v1/invoices/${id}`)).body.status
  await expect.poll(status, { timeout: 30_000 }).toBe('overpaid')
  await open(`/invoices/${id}`)
  const fact = page.locator('dt', { hasText: 'Overpaid by' }).locator('xpath=following-sibling::dd[1]')
  // 160 % of 0.2 LTC.
  expect(await fact.textContent()).toBe('0.12 LTC')
  expect(await page.getByText('Amount due').count()).toBe(0)
  await photograph(page, 'invoice-overpaid')
})

test('a payment link lists its newest invoices, and leads to all of them', async () => {
  const { page, open } = shop
  await make({ usd_amount: '8', asset: 'LTC' })
  const link = await askFromPage(shop, 'POST', '/api/v1/payment-links', { name: 'Tea', usd_amount: '7' })
  await open(`/links/${link.body.id}`)
  await page.getByText('None yet.').waitFor()
  await openLink((await page.locator('.copy-field code').first().textContent()) ?? '', 'LTC')
  const rows = page.locator('tbody tr')
  await rows.filter({ hasText: '$7.00' }).filter({ hasText: 'Awaiting payment' }).waitFor()
  await photograph(page, 'link-invoices')
  await page.getByRole('link', { name: 'Show all', exact: true }).click()
  await heading(page, 'Invoices')
  await page.getByText('Invoices of Tea').waitFor()
  await expect.poll(() => rows.count()).toBe(1)
  expect(new URL(page.url()).search).toBe(`?link=${link.body.id}`)
  await photograph(page, 'invoices-of-link')
  await page.getByRole('link', { name: 'Show all invoices' }).click()
  await rows.filter({ hasText: '$8.00' }).first().waitFor()
})

test('a chart has its numbers as a table, and stands beside the days before', async () => {
  const { page, open } = shop
  const { id } = await make({ usd_amount: '25', asset: 'LTC' })
  await askFromPage(shop, 'POST', `/api/v1/test/invoices/${id}/pay`, { scenario: 'exact' })
  const status = async () => (await askFromPage(shop, 'GET', `/api/v1/invoices/${id}`)).body.status
  await expect.poll(status).toBe('paid')
  await open('/')
  const chart = page.locator('.card', { hasText: 'Volume (received)' }).locator('figure')
  await chart.getByText('As a table').click()
  const table = chart.getByRole('table', { name: 'Received in US dollars, by day' })
  const titles = table.getByRole('columnheader')
  expect(await titles.allTextContents()).toEqual(['Day', 'Received'])
  // Today alone had something; a part payment of this shop is in it, too.
  await expect.poll(() => table.locator('tbody tr').count()).toBe(1)
  const [, received = ''] = await table.locator('tbody td').allTextContents()
  expect(Number(received.replace('$', ''))).toBeGreaterThanOrEqual(24.9)
  await page.getByLabel('Comparison').selectOption('before')
  await expect.poll(() => titles.allTextContents()).toEqual(['Day', 'Period before', 'Received'])
  expect(await table.locator('tbody td').allTextContents()).toEqual([expect.any(String), '$0.00', received])
  await page.getByText('$0.00 before').first().waitFor()
  // As a shop that takes every coin.
  await page.route('**/api/v1/statistics*', async (route) => {
    const response = await route.fetch()
    const known = await response.json()
    const assets = ['BTC', 'LTC', 'ETH', 'ETH_BASE', 'USDC_BASE', 'SOL'].map((asset, at) => ({
      ...known.assets[0],
      asset,
      received_usd: String(100 * (at + 1)),
    }))
    await route.fulfill({ response, json: { ...known, assets } })
  })
  await page.setViewportSize({ width: 390, height: 844 })
  await page.reload()
  const coins = page.locator('.card', { hasText: 'By coin' }).locator('figure')
  // Slanted names have a place of their own below the bars.
  const flat = await chart.getByRole('img').boundingBox()
  await expect
    .poll(async () => (await coins.getByRole('img').boundingBox())?.height)
    .toBeGreaterThan((flat?.height ?? Infinity) + 20)
  await coins.getByText('As a table').click()
  await expect.poll(() => coins.locator('tbody tr').count()).toBe(6)
  expect(await overflow(page)).toBe(0)
  await photograph(page, 'chart-by-coin-phone')
  await page.setViewportSize({ width: 1280, height: 900 })
})
