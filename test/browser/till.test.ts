// @module-tag chromium
import type { Browser, Page } from 'playwright-core'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AssetId } from '../../src/core/assets.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import type { SandboxControl } from '../../src/sandbox/sandbox-control.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { launchBrowser, photograph } from '../support/browser.ts'
import { startBuyersSite } from '../support/buyers-site.ts'
import { inBlock } from '../support/invoice.ts'
import {
  axeFaults,
  complaintsOf,
  lowContrast,
  overflow,
  smallTargets,
  unnamed,
} from '../support/page-checks.ts'

/** A till as staff use it, on a phone: the real API, database, live stream and browser. */

let api: TestApi
let browser: Browser
let site: Awaited<ReturnType<typeof startBuyersSite>>
let merchant: TestMerchant
beforeAll(async () => {
  api = await createTestApi()
  browser = await launchBrowser()
  merchant = await api.addMerchant()
  // Pays as the sandbox's chain does: what the watcher reads is recorded.
  const sandbox: SandboxControl = {
    serves: () => true,
    payInvoice: async ({ tenant, invoiceId }) => {
      const { rows } = await api.database.owner.query<{ amount: string; asset: AssetId }>(
        'select amount::text as amount, asset from invoice where id = $1',
        [invoiceId],
      )
      const firstSeenMs = api.time.now.getTime()
      const { amount = '0', asset = 'LTC' } = rows[0] ?? {}
      const paid = inBlock('ab'.repeat(32), BigInt(amount), 6, { firstSeenMs, asset })
      const watcher = { pool: api.database.pools.watcher, clock: api.deps.clock }
      await recordTransfers(watcher, { tenant, invoiceId, facts: [paid], tipHeight: 100 })
      return { kind: 'sent', scenario: 'exact', txids: [] }
    },
    sendCoins: async () => false,
    stop: async () => {},
  }
  site = await startBuyersSite(api, { formsPerSecond: 1_000, sandbox })
})
afterAll(async () => {
  await browser?.close()
  await site?.stop()
  await api?.drop()
})

const ITEMS = [
  { name: 'Espresso', amount: '2.20' },
  { name: 'Flat white', amount: '3.40' },
  { name: 'Croissant', amount: '2.80' },
  { name: 'Banana bread', amount: '3.90' },
  { name: 'Orange juice', amount: '4.50' },
  { name: 'Still water', amount: '1.90' },
]

/** By the item's place, drawn on 48 × 48. */
const DRAWN = [
  '<path d="M13 18h18v9a9 9 0 0 1-18 0zM11 39h22" fill="#6d4c41"/><path d="M31 20h3a4 4 0 0 1 0 9h-4" fill="none"/>',
  '<path d="M12 15h22l-2 20a3 3 0 0 1-3 3H17a3 3 0 0 1-3-3z" fill="#fff"/><path d="M13 20h20l-1 8H14z" fill="#a1795a"/>',
  '<path d="M6 31c2-13 10-18 18-18s16 5 18 18l-9-5c-5-4-13-4-18 0z" fill="#e0a044"/><path d="M19 14v10M29 14v10"/>',
  '<path d="M9 21a6 6 0 0 1 6-7h18a6 6 0 0 1 6 7l-3 3v12H12V24z" fill="#d7a86e"/><path d="M20 22v7M28 22v7"/>',
  '<path d="M15 13h18l-2 25H17z" fill="#f39a2d"/><path d="m25 13 4-8 5-1" fill="none"/>',
]

async function upload(file: Buffer, key = merchant.testKey) {
  const body = { picture: file.toString('base64') }
  return api.call('POST', '/till-pictures', { key, body })
}
const drawn = (shapes: string, width = 48) =>
  sharp(
    Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" width="${4 * width}" height="192" viewBox="${24 - width / 2} 0 ${width} 48">
       <rect x="-200" width="500" height="48" fill="#f4e3cf"/>
       <g stroke="#5d4037" stroke-width="2" stroke-linejoin="round">${shapes}</g></svg>`,
    ),
  )
    .png({ palette: true })
    .toBuffer()

async function makeTill(items: object[]): Promise<{ id: string; path: string; code: string }> {
  const body = {
    name: 'Front counter',
    asset: 'LTC',
    allow_dynamic_amount: true,
    till: { currency: 'EUR', items, tips: [5, 10, 15] },
  }
  const key = merchant.testKey
  const made = await api.call('POST', '/payment-links', { key, body })
  if (made.status !== 201) throw new Error(made.text)
  const code = await api.call('POST', `/payment-links/${made.body.id}/renew-staff-code`, { key })
  return { id: made.body.id, path: new URL(made.body.url).pathname, code: code.body.staff_code }
}
const invoices = async () => (await api.call('GET', '/invoices', { key: merchant.testKey })).body.data

async function inspect(page: Page): Promise<void> {
  expect(await axeFaults(page)).toEqual([])
  await glance(page)
}

async function glance(page: Page): Promise<void> {
  expect(await lowContrast(page)).toEqual([])
  expect(await smallTargets(page)).toEqual([])
  expect(await unnamed(page)).toEqual([])
  expect(await overflow(page)).toBe(0)
}

test('staff sign in, sell, lose the connection, charge once, see it paid, and serve the next', async () => {
  const pictures = await Promise.all(
    DRAWN.map(async (shapes, at) => upload(await drawn(shapes, 48 + 8 * at))),
  )
  const { id, path, code } = await makeTill(
    ITEMS.map((item, at) => ({ ...item, picture: pictures[at]?.body.digest })),
  )
  const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, locale: 'en-IE' }
  const context = await browser.newContext(phone)
  const page = await context.newPage()
  const alerts = complaintsOf(page)
  await page.goto(site.url + path)
  await inspect(page)
  await photograph(page, 'till-sign-in')
  // After a slip the same page asks again, in any language.
  await page.locator('#code').fill('1234')
  await page.locator('#sign-in').tap()
  await page.getByText('Wrong code.').waitFor()
  await page.getByText('Español').tap()
  await page.getByText('Código del personal').waitFor()
  await page.goto(site.url + path)
  await page.locator('#code').fill('1234')
  await page.locator('#sign-in').tap()
  await page.getByText('Wrong code.').waitFor()
  await page.locator('#code').fill(`${code.slice(0, 4)} ${code.slice(4)}`)
  await page.locator('#sign-in').tap()
  await page.locator('#till').waitFor()
  const images = page.locator('.till-items img')
  expect(await images.count()).toBe(DRAWN.length)
  // Whatever its file, a picture is a square, and keeps its place before it is there.
  const sides = () =>
    images.evaluateAll((all: HTMLImageElement[]) =>
      all.map((image) => [image.naturalWidth, image.naturalHeight, image.offsetWidth, image.offsetHeight]),
    )
  await images.last().scrollIntoViewIfNeeded()
  await expect.poll(sides).toEqual(DRAWN.map(() => [144, 144, 56, 56]))
  await images.first().scrollIntoViewIfNeeded()

  for (const key of ['1', '5', '0', 'back', '0']) await page.locator(`[data-key="${key}"]`).tap()
  await page.locator('[data-key=add]').tap()
  await page.locator('[data-item="0"]').tap()
  await page.locator('[data-item="0"]').tap()
  await page.locator('[data-item="4"]').tap()
  await page.getByRole('button', { name: 'Remove one: Orange juice' }).tap()
  await page.keyboard.press('5')
  expect(await page.locator('#total').textContent()).toBe('€5.95')
  await page.keyboard.press('Backspace')
  await page.keyboard.press('7')
  await page.locator('[data-key=clear]').tap()
  await page.getByText('10%').tap()
  // 1.50 and 4.40, and a tenth of them.
  expect(await page.locator('#total').textContent()).toBe('€6.49')
  expect(await page.locator('#charge').textContent()).toBe('Charge \u2066€6.49\u2069')
  await inspect(page)
  await page.locator('.till-items').evaluate((items) => items.scrollTo(0, 0))
  await photograph(page, 'till')
  await page.emulateMedia({ colorScheme: 'dark' })
  await glance(page)
  await photograph(page, 'till-dark')
  await page.emulateMedia({ colorScheme: 'light' })

  // The server has the sale and its answer is lost.
  let isLost = true
  await page.route('**/sale', async (route) => {
    if (!isLost) return route.continue()
    await route.fetch()
    await route.abort('connectionreset')
  })
  await page.locator('#charge').tap()
  await page.getByText('No connection.').waitFor()
  // It is tried again every few seconds, and the way out stays where it is.
  await page.locator('#discard').focus()
  const isKept = page.evaluate(
    () =>
      new Promise<boolean>((resolve) => {
        const [text, discard] = ['sending-text', 'discard'].map((id) => document.getElementById(id))
        const words = new Set<string>()
        new MutationObserver(() => {
          words.add(text?.textContent ?? '')
          if (discard !== document.activeElement) resolve(false)
          if (words.size === 2) resolve(true)
        }).observe(document.body, { subtree: true, childList: true, attributes: true })
      }),
  )
  expect(await isKept).toBe(true)
  await glance(page)
  await photograph(page, 'till-offline')
  isLost = false
  await page.reload()
  await page.waitForURL('**/sale/*')
  const [invoice, ...others] = await invoices()
  expect(others).toEqual([])
  expect(invoice).toMatchObject({
    price: { amount: '6.49', currency: 'EUR' },
    description: '2 × Espresso, + 1.50, + 10 % (0.59)',
    metadata: { tip: '0.59' },
    amount_source: 'merchant',
    status: 'awaiting_payment',
  })
  const qr = await page.locator('.qr-payment').boundingBox()
  expect(qr?.width).toBeGreaterThan(250)
  // In sight at once, with the bars of the phone's own browser.
  expect((qr?.y ?? 0) + (qr?.height ?? 0)).toBeLessThan(730)
  await inspect(page)
  await photograph(page, 'till-sale')
  await page.locator('#switch-summary').tap()
  await page.locator('#coin-BTC').check()
  await page.locator('#switch-coin').tap()
  await expect.poll(() => page.locator('#amount-value').textContent()).toContain('BTC')
  expect(page.url()).toContain('/sale/')

  await page.locator('#sandbox-exact').tap()
  await page.locator('#till-done').waitFor()
  await inspect(page)
  await photograph(page, 'till-paid')
  const token = page.url().split('/').at(-1)
  await page.locator('#till-receipt').tap()
  await page.getByText('2 × Espresso').waitFor()
  expect(await page.locator('#print').isVisible()).toBe(true)
  const signed = page.locator('#signed-receipt')
  expect(await signed.evaluate(async (link: HTMLAnchorElement) => (await fetch(link.href)).status)).toBe(200)
  await page.goBack()
  await page.keyboard.press('Enter')
  await page.locator('#till').waitFor()
  expect(await page.locator('#total').textContent()).toBe('€0.00')

  await page.locator('#today').tap()
  expect(await page.locator('.till-sum').textContent()).toBe('€6.49')
  expect(await page.locator('.till-count').textContent()).toBe('1 sale · Tip: €0.59')
  await inspect(page)
  await photograph(page, 'till-today')
  expect(await page.locator('.till-sales a').getAttribute('href')).toBe(`./sale/${token}`)

  // What was entered before the look at the day is still there, and is not once it was charged.
  await page.goto(site.url + path)
  await page.locator('[data-item="0"]').tap()
  for (const key of ['1', '5', '0', 'add', '5']) await page.locator(`[data-key="${key}"]`).tap()
  await page.getByText('10%').tap()
  await page.locator('#today').tap()
  await page.locator('.till-count').waitFor()
  await page.goto(site.url + path)
  // 2.20, 1.50 and 0.05, and a tenth of them.
  expect(await page.locator('#total').textContent()).toBe('€4.13')
  await page.locator('[data-key=clear]').tap()
  await page.locator('[data-key=clear]').tap()
  const touch = await page.locator('link[rel=apple-touch-icon]').getAttribute('href')
  const icon = await page.request.get(site.url + touch)
  expect(await sharp(await icon.body()).metadata()).toMatchObject({ format: 'png', width: 180, height: 180 })
  for (const [name, change] of [
    ['narrow', { width: 320, height: 568 }],
    ['desktop', { width: 1280, height: 800 }],
  ] as const) {
    await page.setViewportSize(change)
    await glance(page)
    await photograph(page, `till-${name}`)
    await page.emulateMedia({ colorScheme: 'dark' })
    await photograph(page, `till-${name}-dark`)
    await page.emulateMedia({ colorScheme: 'light' })
  }
  await page.setViewportSize(phone.viewport)

  // The shop changes its items while the till is open: what the page shows is not charged.
  const hostile = '<img src=x onerror=alert(1)>"\'&'
  const till = { currency: 'EUR', items: [{ name: hostile, amount: '4.50' }], tips: [] }
  await api.call('PATCH', `/payment-links/${id}`, { key: merchant.testKey, body: { till } })
  await page.locator('[data-item="0"]').tap()
  await page.locator('#charge').tap()
  await page.getByText('The shop has changed its prices.').waitFor()
  await page.locator('#discard').tap()
  await page.locator('[data-item="0"]').getByText(hostile).tap()
  await page.locator('#lines').getByText(hostile).waitFor()
  await page.locator('#charge').tap()
  await page.waitForURL('**/sale/*')
  await page.locator('.what-for').getByText(hostile).waitFor()
  expect((await invoices()).length).toBe(2)
  await page.locator('#new-sale').tap()
  await page.goto(`${site.url}${path}?lang=ar`)
  await glance(page)
  await photograph(page, 'till-ar')

  // A till that the shop has closed says so, and keeps no sale.
  await page.goto(site.url + path)
  await api.call('PATCH', `/payment-links/${id}`, { key: merchant.testKey, body: { active: false } })
  await page.locator('[data-item="0"]').tap()
  await page.locator('#charge').tap()
  await page.locator('#till').waitFor({ state: 'detached' })
  expect(await page.evaluate(() => localStorage.length)).toBe(0)
  expect(alerts.filter((alert) => !/ERR_CONNECTION_RESET|status of 40[349]/.test(alert))).toEqual([])
  await context.close()
})
