// @module-tag chromium
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { launchBrowser } from '../support/browser.ts'
import { INVOICES_BY_PAGE } from '../support/checkout-invoice.ts'
import { type CheckoutServer, startCheckoutServer } from '../support/checkout-server.ts'

/** A form that is refused is answered by the page: it lives on from there, with script and without. */
const { awaiting, expired, paid } = INVOICES_BY_PAGE
const COINS = [{ asset: 'BTC', alsoAccepts: [], available: true, reason: null, amount: 51_500n }] as const

let browser: Browser
let server: CheckoutServer
let requested: string[]
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser?.close())
beforeEach(async () => {
  requested = []
  server = await startCheckoutServer({
    switchAsset: async () => ({ kind: 'asset_unavailable', reason: 'asset_not_accepted' }),
    reopenInvoice: async () => ({ kind: 'asset_unavailable', reason: 'asset_not_accepted' }),
    requestReceipt: async ({ email }) => requested.push(email) > 1,
  })
})
afterEach(() => server.close())

const SHOWN = { otherCoins: COINS, receipt: 'offered', reopenable: true } as const

test.each([true, false])('an address that is none is corrected on the page (script: %s)', async (script) => {
  const page = await browser.newPage({ javaScriptEnabled: script })
  await page.goto(server.show('t', awaiting, undefined, SHOWN))
  await page.locator(script ? '#receipt-summary' : '#receipt-page').click()
  for (const email of ['a@b', 'ada@example.com', 'ada@example.org']) {
    await page.locator('#email').fill(email)
    await page.locator('#receipt-send').click()
    await page.waitForURL(/\/i\/t(\?form=receipt-email)?$/)
  }
  await expect.poll(() => requested).toEqual(['ada@example.com', 'ada@example.org'])
  expect(new URL(page.url()).pathname).toBe('/i/t')
  await page.close()
})

test('a coin that has just gone leaves a page that follows the payment', async () => {
  const page = await browser.newPage()
  await page.goto(server.show('t', awaiting, undefined, SHOWN))
  await page.locator('#switch-summary').click()
  await page.locator('#switch-form input').first().check({ force: true })
  await page.locator('#switch-coin').click()
  await page.waitForURL(/form=switch$/)
  await expect.poll(() => server.checkout.streams.size).toBe(1)
  server.show('t', paid)
  await expect.poll(() => page.locator('h1').textContent()).toBe('Payment complete')
  expect(await page.locator('#lost').isVisible()).toBe(false)
  await page.close()
})

test('without script a page that refused a form reloads, and changes its language, as the page itself', async () => {
  const page = await browser.newPage({ javaScriptEnabled: false })
  await page.goto(server.show('t', expired, undefined, SHOWN))
  await page.locator('#reopen').click()
  await page.waitForURL(/form=reopen$/)
  // What a reload by the page's own `refresh` asks for.
  expect((await page.goto(page.url()))?.status()).toBe(200)
  await page.getByRole('link', { name: 'Deutsch' }).click()
  await page.locator('html[lang=de]').waitFor()
  await page.locator('#reopen').click()
  await page.waitForURL(/\?lang=de&form=reopen$/)
  await page.locator('html[lang=de]').waitFor()
  await page.close()
})
