// @module-tag chromium
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, makePlace, startApp } from '../support/app.ts'
import { launchBrowser, photograph } from '../support/browser.ts'
import { axeFaults, axeFaultsOfMany, complaintsOf, overflow } from '../support/page-checks.ts'

let folder: Awaited<ReturnType<typeof makePlace>>
let app: App
let browser: Browser

beforeAll(async () => {
  folder = await makePlace()
  app = await startApp({ ...folder, env: { NETWORKS: 'litecoin-test' } })
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await app?.stop()
  await folder?.remove()
})

async function openPage(path: string, options: Parameters<Browser['newContext']>[0] = {}): Promise<Page> {
  const context = await browser.newContext({ permissions: ['clipboard-read', 'clipboard-write'], ...options })
  const page = await context.newPage()
  await page.goto(`${app.baseUrl}${path}`)
  return page
}

test('the reference creates an invoice with the demo key, and a second press creates no other', async () => {
  const page = await openPage('/docs')
  const complaints = complaintsOf(page)
  const operation = page.locator('#createInvoice')
  await operation.getByText('Try it').click()
  const send = operation.getByRole('button', { name: 'Send in test mode' })
  await send.click()
  await operation.getByText('Enter an API key of test mode').waitFor()
  await page.getByLabel('Test API key').fill(`sk_live_${'x'.repeat(43)}`)
  await send.click()
  await operation.getByText('This is a live key.').waitFor()
  await page.getByLabel('Test API key').fill(app.apiKey)
  await operation.getByLabel('Body').fill(JSON.stringify({ usd_amount: '12.50', asset: 'LTC' }))
  await send.click()
  await operation.getByText('201 Created').waitFor()
  const answer = () => operation.locator('[role=status] code').textContent()
  const { id, usd_amount: amount } = JSON.parse((await answer()) ?? '')
  expect([id, amount]).toEqual([expect.stringMatching(/^inv_/), '12.50'])
  await send.click()
  await expect.poll(async () => JSON.parse((await answer()) ?? '{}').id).toBe(id)

  const lookUp = page.locator('#getInvoice')
  await lookUp.getByText('Try it').click()
  await lookUp.getByLabel('id').fill(id)
  await lookUp.getByRole('button', { name: 'Send in test mode' }).click()
  await lookUp.getByText('200 OK').waitFor()
  await operation.getByLabel('Body').fill('{"usd_amount": "0.001"}')
  await send.click()
  await operation.getByText(/^400 Bad Request/).waitFor()
  // The tab keeps the key, and nothing else does.
  await page.reload()
  expect(await page.getByLabel('Test API key').inputValue()).toBe(app.apiKey)
  expect(await page.evaluate(() => [localStorage.length, document.cookie])).toEqual([0, ''])
  // The browser names every answer that refuses.
  expect(complaints).toEqual([expect.stringContaining('400 (Bad Request)')])
  await page.context().close()
})

test('every page of the documentation leads to the dashboard', async () => {
  const page = await openPage('/docs')
  for (const path of ['/docs', '/docs/guides', '/docs/errors']) {
    await page.goto(app.baseUrl + path)
    const link = page.getByRole('banner').getByRole('link', { name: 'Dashboard', exact: true })
    expect(await link.getAttribute('href')).toBe('/dashboard/')
  }
  await photograph(page, 'docs-header')
  await page.setViewportSize({ width: 320, height: 800 })
  expect(await overflow(page)).toBe(0)
  await photograph(page, 'docs-header-phone')
  await page.context().close()
})

test('an address that leads nowhere says so in the reader’s language, and whom to ask', async () => {
  const page = await openPage('/docs', { locale: 'ja-JP', viewport: { width: 390, height: 700 } })
  const complaints = complaintsOf(page)
  await page.goto(`${app.baseUrl}/no/such/page`)
  expect(await page.locator('h1').textContent()).toBe('ページが見つかりません')
  expect(await page.locator('html').getAttribute('lang')).toBe('ja')
  expect(await axeFaults(page)).toEqual([])
  // The browser itself reports the 404; nothing of the page is refused.
  expect(complaints).toEqual([expect.stringContaining('404')])
  await page.getByText('お店に新しいリンクを').waitFor()
  await photograph(page, 'unknown-page')
  await page.context().close()
})

test('an unknown page of the documentation leads on to the guides, the reference and the search', async () => {
  const page = await openPage('/docs/guides/no-such-guide')
  await page.getByRole('heading', { name: 'Page not found' }).waitFor()
  expect(await axeFaults(page)).toEqual([])
  await page.getByRole('searchbox').fill('payouts')
  await page.locator('search li').first().waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('main').getByRole('link', { name: 'Guides', exact: true }).click()
  await page.getByRole('heading', { level: 1, name: 'Guides' }).waitFor()
  await page.context().close()
})

test('on a phone one press leads to the contents, and no button covers a sample', async () => {
  const page = await openPage('/docs/guides/receiving-webhooks', { viewport: { width: 360, height: 740 } })
  const contents = page.getByRole('navigation', { name: 'Contents' })
  await page.getByRole('banner').getByRole('link', { name: 'Contents' }).click()
  await expect.poll(async () => (await contents.boundingBox())?.y).toBeLessThan(740)
  await contents.getByRole('link', { name: '3. Verify the signature first' }).click()
  const covered = await page.locator('.sample').evaluateAll((samples) =>
    samples.filter((sample) => {
      const [button, code] = ['button', 'code'].map((tag) =>
        sample.querySelector(tag)?.getBoundingClientRect(),
      )
      return button === undefined || code === undefined || button.bottom > code.top
    }),
  )
  expect(covered).toEqual([])
  await page.context().close()
})

test('who opens one sample in a language reads all of the reference in it, and stays in place', async () => {
  const page = await openPage('/docs#getPayout')
  const summary = page.locator('#getPayout summary', { hasText: 'Python' })
  await summary.scrollIntoViewIfNeeded()
  const before = await summary.boundingBox()
  await summary.click()
  const open = () =>
    page
      .locator('details[name$="-request"][open] > summary')
      .evaluateAll((all) => [...new Set(all.map((each) => each.textContent))])
  await expect.poll(open).toEqual(['Python'])
  await expect
    .poll(async () => Math.abs(((await summary.boundingBox())?.y ?? 0) - (before?.y ?? 0)))
    .toBeLessThan(2)
  await page.reload()
  expect(await open()).toEqual(['Python'])
  await page.context().close()
})

test('search finds guides, requests and errors by the keyboard alone', async () => {
  const page = await openPage('/docs/guides')
  await page.keyboard.press('/')
  await page.keyboard.type('verify signature')
  await page.locator('search [role=status]', { hasText: 'found' }).waitFor()
  expect(await page.locator('search li').count()).toBeGreaterThan(0)
  await page.getByRole('searchbox').fill('create an invoice')
  await page.locator('search li', { hasText: 'API reference' }).first().waitFor()
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/docs#createInvoice$/)
  await page.getByRole('searchbox').fill('no such zebra')
  await page.getByText('Nothing found').waitFor()
  await page.keyboard.press('Escape')
  expect(await page.getByRole('searchbox').inputValue()).toBe('')
  await page.getByRole('searchbox').fill('idempotency')
  await page.locator('search li').first().waitFor()
  await page.keyboard.press('ArrowDown')
  expect(await page.evaluate(() => document.activeElement?.matches('search li:first-child a'))).toBe(true)
  await page.context().close()
})

test('search finds fields, parameters and what guides say, after titles', async () => {
  const page = await openPage('/docs/guides')
  const hits = page.locator('search li a')
  const find = async (words: string, place: string) => {
    await page.getByRole('searchbox').fill(words)
    await hits.filter({ hasText: place }).first().waitFor()
    return (await hits.allInnerTexts()).map((text) => text.replace(/\s+/g, ' '))
  }
  expect((await find('metadata', 'Field of CreateInvoice'))[0]).toMatch(/^metadata/)
  expect((await find('tolerance', 'Change the payment rules'))[0]).toMatch(/^tolerance_under/)
  await find('idempotency-key', 'Create an invoice')
  await find('refund', 'Coinbase Commerce')
  const [first] = await find('verify', 'Receiving webhooks')
  expect(first).toMatch(/^Verify/)
  // Of the guide's text alone.
  await find('standard webhooks', 'Verify the signature first')
  await page.keyboard.press('Enter')
  await page.waitForURL(/\/docs\/guides\/[a-z-]+(#[\w-]+)?$/)
  await page.context().close()
})

test('every sample is copied by one press', async () => {
  const page = await openPage('/docs/guides/receiving-webhooks')
  await page.getByRole('button', { name: 'Copy' }).first().click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  const copied = await page.evaluate(() => navigator.clipboard.readText())
  expect(copied).toBe(await page.locator('main pre').first().textContent())
  await page.context().close()
})

const PATHS = ['/docs', '/docs/errors', '/docs/guides', '/docs/guides/payouts', '/docs/guides/x402'] as const

/** The reference has tens of thousands of elements, and axe looks at each: minutes on a busy machine. */
const AXE_MS_MAX = 600_000

for (const [name, options] of Object.entries({
  desktop: { viewport: { width: 1280, height: 900 } },
  'a phone, dark': { viewport: { width: 320, height: 700 }, colorScheme: 'dark' },
} as const))
  test.for(PATHS)(
    `%s is accessible and as wide as its window: ${name}`,
    { timeout: AXE_MS_MAX },
    async (path) => {
      const page = await openPage(path, options)
      await page.getByRole('searchbox').waitFor()
      const faults = path === '/docs' ? await axeFaultsOfMany(page, 'main section') : await axeFaults(page)
      expect(faults).toEqual([])
      expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true)
      await page.context().close()
    },
  )

test('a guide shows its pictures, on a phone too', async () => {
  const page = await openPage('/docs/guides/first-hour', { viewport: { width: 360, height: 800 } })
  const complaints = complaintsOf(page)
  const pictures = page.locator('main img')
  for (const picture of await pictures.all()) {
    await picture.scrollIntoViewIfNeeded()
    await expect.poll(() => picture.evaluate((img: HTMLImageElement) => img.naturalWidth)).toBeGreaterThan(0)
  }
  expect(await pictures.count()).toBeGreaterThan(10)
  expect(await overflow(page)).toBe(0)
  expect(await axeFaults(page)).toEqual([])
  await photograph(page, 'docs/first-hour-phone')
  expect(complaints).toEqual([])
  await page.context().close()
})

test('without a script the pages are complete, and show nothing that needs one', async () => {
  const page = await openPage('/docs', { javaScriptEnabled: false })
  await page.getByRole('heading', { level: 1 }).waitFor()
  expect(await page.locator('search, .try, .key').filter({ visible: true }).count()).toBe(0)
  expect(await page.locator('#createInvoice pre').filter({ visible: true }).count()).toBe(1)
  await page.context().close()
})
