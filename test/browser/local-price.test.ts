// @module-tag chromium
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { InvoicePrice } from '../../src/core/invoice/types.ts'
import type { Currency } from '../../src/core/rates/currencies.ts'
import { launchBrowser, photograph } from '../support/browser.ts'
import { INVOICES_BY_PAGE, litecoinInvoice } from '../support/checkout-invoice.ts'
import { type CheckoutServer, startCheckoutServer } from '../support/checkout-server.ts'
import { axeFaults, complaintsOf, overflow } from '../support/page-checks.ts'

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

/** `usdPerUnit` of the currency; the dollars are those of every page here. */
const priced = (amount: string, currency: Currency, usdPerUnit: string): InvoicePrice => ({
  amount,
  currency,
  rate: { usdPerUnit, quotedAt: '2026-11-21T13:05:00.000Z', sources: [] },
})

test.each([
  ['en-US', 'EUR', '45.45', '1.1', '€45.45 to Blue Heron Books', '≈ $49.99', ''],
  ['de-DE', 'EUR', '45.45', '1.1', '45,45 € an Blue Heron Books', '≈ 49,99 $', ''],
  ['en-GB', 'EUR', '45.45', '1.1', '€45.45 to Blue Heron Books', '≈ $49.99', '≈ £39.99'],
  ['ja-JP', 'JPY', '7461', '0.0067', 'Blue Heron Books へ ￥7,461', '≈ $49.99', ''],
  ['en-US', 'HUF', '17853.50', '0.0028', 'HUF 17,853.50 to Blue Heron Books', '≈ $49.99', ''],
  ['ar', 'EUR', '45.45', '1.1', '€45.45 إلى Blue Heron Books', '≈ $49.99', ''],
] as const)(
  'a buyer in %s reads a price in %s first, then about its dollars, then their own currency',
  async (locale, currency, amount, rate, lead, dollars, own) => {
    for (const [javaScriptEnabled, width] of [
      [true, 360],
      [true, 1280],
      [false, 360],
    ] as const) {
      const context = await browser.newContext({
        locale,
        javaScriptEnabled,
        viewport: { width, height: 800 },
      })
      const page = await context.newPage()
      const alerts = complaintsOf(page)
      const invoice = litecoinInvoice({ price: priced(amount, currency, rate) })
      await page.goto(server.show('t', invoice))
      const plain = async (selector: string) =>
        (await page.locator(selector).first().innerText())
          .replaceAll(/[\u00a0\u202f]/g, ' ')
          .replaceAll(/[\u2066-\u2069]/g, '')
      expect(await plain('.lead')).toBe(lead)
      expect(await plain('.price')).toBe(dollars)
      if (javaScriptEnabled) {
        await expect.poll(() => page.locator('#countdown').textContent()).not.toBe('–:––')
        expect(await plain('#local-price')).toBe(own)
        expect(await axeFaults(page)).toEqual([])
        await photograph(page, `price-${currency}-${locale}-${width}`)
      }
      expect(await overflow(page)).toBe(0)
      expect(alerts).toEqual([])
      await context.close()
    }
  },
)

test('what is still to pay of a price, and its receipt, are in the shop’s currency first', async () => {
  const context = await browser.newContext({ locale: 'en-GB', viewport: { width: 360, height: 800 } })
  const page = await context.newPage()
  const alerts = complaintsOf(page)
  const price = priced('45.45', 'EUR', '1.099889')
  await page.goto(server.show('t', { ...INVOICES_BY_PAGE.underpaid, price }))
  expect(await page.locator('.price').allInnerTexts()).toEqual([
    '≈ €27.27 · $29.99',
    expect.stringMatching(/^Total: €45\.45 · 0\.4123 LTC$/),
  ])
  expect(await axeFaults(page)).toEqual([])
  await photograph(page, 'price-underpaid')
  await page.goto(server.show('t', { ...INVOICES_BY_PAGE.paid, price }))
  const totals = page.locator('.receipt dd').filter({ hasText: '45.45' })
  expect(await totals.allInnerTexts()).toEqual(['€45.45 · $49.99'])
  await page.goto(`${server.show('t', { ...INVOICES_BY_PAGE.paid, price })}/receipt`)
  expect(await totals.allInnerTexts()).toEqual(['€45.45 · $49.99'])
  expect(await page.locator('main').innerText()).toContain('1 EUR = $1.099889')
  expect(await axeFaults(page)).toEqual([])
  await photograph(page, 'price-receipt')
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
  await page.goto(
    server.showLink('pl_ask', { kind: 'ask_amount', ...link, reason: 'missing', buyerAmount: null }),
  )
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
