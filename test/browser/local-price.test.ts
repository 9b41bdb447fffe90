// @module-tag chromium
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser, photograph } from '../support/browser.ts'
import { INVOICES_BY_PAGE, litecoinInvoice } from '../support/checkout-invoice.ts'
import { type CheckoutServer, startCheckoutServer } from '../support/checkout-server.ts'
import { axeFaults, complaintsOf } from '../support/page-checks.ts'

/** $49.99 with a euro at 1.10 dollars, a pound at 1.25, a yen at 0.0067 and a real at 0.18. */
let browser: Browser
let server: CheckoutServer
beforeAll(async () => {
  browser = await launchBrowser()
  server = await startCheckoutServer()
})
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

test.each([
  ['de-AT', '≈ 45,45 €'],
  ['fr', '≈ 45,45 €'],
  ['ar', ''],
  ['en-GB', '≈ £39.99'],
  ['en-US', ''],
  ['ja-JP', '≈ ￥7,461'],
  ['pt-BR', '≈ R$ 277,72'],
  ['fr-CH', '≈ 41,66 CHF'],
  ['es-AR', ''],
])('a browser in %s reads beside the price: %s', async (locale, expected) => {
  const context = await browser.newContext({ locale, viewport: { width: 360, height: 800 } })
  const page = await context.newPage()
  const alerts = complaintsOf(page)
  await page.goto(server.show('t', INVOICES_BY_PAGE.awaiting))
  const price = page.locator('#local-price')
  await expect.poll(() => page.locator('#countdown').textContent()).not.toBe('–:––')
  expect((await price.textContent())?.replaceAll('\u00a0', ' ')).toBe(expected)
  expect(await price.isVisible()).toBe(expected !== '')
  expect(await axeFaults(page)).toEqual([])
  await photograph(page, `local-price-${locale}`)
  // What comes by the open stream has it too; from then on there is no price to pay.
  server.show('t', litecoinInvoice({ allowAssetSelection: true }))
  expect(await price.count()).toBe(1)
  server.show('t', INVOICES_BY_PAGE.paid)
  await expect.poll(() => price.count()).toBe(0)
  expect(alerts).toEqual([])
  await context.close()
})

test('an amount in coins has no price in any currency', async () => {
  const context = await browser.newContext({ locale: 'de-DE' })
  const page = await context.newPage()
  await page.goto(server.show('t', litecoinInvoice({ usdCents: null, rate: null })))
  await page.locator('h1').waitFor()
  expect(await page.locator('#local-price').count()).toBe(0)
  await context.close()
})

test('what is still to pay of a part has both; a receipt has no rate of another day', async () => {
  const context = await browser.newContext({ locale: 'de-DE', viewport: { width: 360, height: 800 } })
  const page = await context.newPage()
  const alerts = complaintsOf(page)
  await page.goto(server.show('t', INVOICES_BY_PAGE.underpaid))
  await expect.poll(() => page.locator('#local-price').innerText()).toBe('≈ 27,26\u00a0€')
  expect(await page.locator('.price').first().innerText()).toBe('≈ 29,99\u00a0$')
  expect(await axeFaults(page)).toEqual([])
  await photograph(page, 'local-price-underpaid')
  await page.goto(`${server.show('t', INVOICES_BY_PAGE.paid)}/receipt`)
  await page.locator('h1').waitFor()
  expect(await page.locator('.local-price').count()).toBe(0)
  expect(alerts).toEqual([])
  await context.close()
})

test('an amount that the buyer types is converted as they type it', async () => {
  const context = await browser.newContext({ locale: 'de-DE', viewport: { width: 360, height: 800 } })
  const page = await context.newPage()
  const alerts = complaintsOf(page)
  const link = {
    tenant: { merchantId: 'mer_01jd8x5v7k0000000000000000', livemode: false },
    merchantName: 'Blue Heron Books',
    linkName: 'Donation',
  }
  await page.goto(server.showLink('pl_ask', { kind: 'ask_amount', ...link, reason: 'missing' }))
  const price = page.locator('#local-usd')
  expect(await price.isVisible()).toBe(false)
  await page.locator('#usd').fill('22')
  await expect.poll(() => price.innerText()).toBe('≈ 20,00\u00a0€')
  expect(await axeFaults(page)).toEqual([])
  await photograph(page, 'local-price-typed')
  await page.locator('#usd').fill('')
  expect(await price.isVisible()).toBe(false)
  expect(alerts).toEqual([])
  await context.close()
})
