// @module-tag chromium
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ASSET_IDS } from '../../src/core/assets.ts'
import { parseCoinAmount } from '../../src/core/money.ts'
import { expireInvoices } from '../../src/flows/expire-invoices.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { randomBase62 } from '../../src/secrets/random-base62.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { launchBrowser, photograph } from '../support/browser.ts'
import { startBuyersSite } from '../support/buyers-site.ts'
import { inBlock } from '../support/invoice.ts'
import { complaintsOf } from '../support/page-checks.ts'
import { readQr } from '../support/read-qr.ts'

/** Payment links and sessions as buyers meet them: the real API, database, tokens and browser. */

let api: TestApi
let browser: Browser
let baseUrl: string
let site: Awaited<ReturnType<typeof startBuyersSite>>
let merchant: TestMerchant

beforeAll(async () => {
  api = await createTestApi()
  browser = await launchBrowser()
  // The tests are one caller; what one caller may do is a test of its own.
  site = await startBuyersSite(api, { formsPerSecond: 1_000 })
  baseUrl = site.url
})
beforeEach(async () => {
  merchant = await api.addMerchant()
  api.time.advance(1_000)
})
afterAll(async () => {
  await browser?.close()
  await site?.stop()
  await api?.drop()
})

type Link = { id: string; slug: string }
async function makeLink(change: object = {}): Promise<Link> {
  const body = { name: 'Coffee beans', usd_amount: '25.00', allow_dynamic_amount: true, ...change }
  const made = await api.call('POST', '/payment-links', { key: merchant.testKey, body })
  if (made.status !== 201) throw new Error(made.text)
  return made.body
}
async function makeSession(link: Link, change: object = {}): Promise<string> {
  const body = { order_reference: `order-${crypto.randomUUID()}`, usd_amount: '49.99', ...change }
  const path = `/payment-links/${link.id}/checkout-sessions`
  const made = await api.call('POST', path, { key: merchant.testKey, body })
  if (made.status !== 201) throw new Error(made.text)
  const url = new URL(made.body.checkout_url)
  return url.pathname + url.search
}
async function invoices(): Promise<number> {
  const { rows } = await api.database.owner.query<{ count: number }>(
    'select count(*)::int as count from invoice',
  )
  return rows[0]?.count ?? -1
}
const post = (path: string, form: [string, string][] | string, headers: Record<string, string> = {}) =>
  fetch(baseUrl + path, {
    method: 'POST',
    body: typeof form === 'string' ? form : new URLSearchParams(form),
    redirect: 'manual',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  })

test('a buyer opens a session’s page, chooses a coin, continues, changes it, and finds the same payment', async () => {
  const path = await makeSession(await makeLink())
  const before = await invoices()
  const page = await browser.newPage({ locale: 'de-DE' })
  const alerts = complaintsOf(page)
  await page.goto(baseUrl + path)
  expect((await page.locator('h1').textContent())?.replace(/\s/u, ' ')).toBe('49,99 $')
  expect(await page.locator('html').getAttribute('lang')).toBe('de')
  expect(await invoices()).toBe(before)
  await page.locator('#coin-LTC').check()
  await page.locator('#continue').click()
  await page.waitForURL('**/i/*')
  expect(await page.locator('h1').textContent()).toMatch(/^[0-9.]+ LTC senden$/)
  expect(await invoices()).toBe(before + 1)
  const own = page.url()
  await page.locator('#switch-summary').click()
  await page.locator('#coin-BTC').check()
  await page.locator('#switch-coin').click()
  await expect.poll(() => page.locator('h1').textContent()).toMatch(/^[0-9.]+ BTC senden$/)
  expect(page.url()).toBe(own)
  await page.goto(baseUrl + path)
  expect(page.url()).toBe(own)
  expect(await invoices()).toBe(before + 1)
  expect(alerts).toEqual([])
  await page.close()
})

test('a camera reads both codes of every coin, with the coin’s sign in their middle', async () => {
  const { slug } = await makeLink()
  const context = await browser.newContext({ locale: 'en-US' })
  const page = await context.newPage()
  await page.goto(`${baseUrl}/l/${slug}`)
  const coins = await page
    .locator('input[name=asset]:enabled')
    .evaluateAll((inputs) => inputs.map((input) => (input as HTMLInputElement).value))
  expect(coins).toEqual(expect.arrayContaining(['BTC', 'LTC']))
  for (const asset of coins) {
    await page.goto(`${baseUrl}/l/${slug}`)
    await page.locator(`#coin-${asset}`).check()
    await page.locator('#continue').click()
    await page.waitForURL('**/i/*')
    const uri = await page.locator('#open-wallet').getAttribute('href')
    expect(await readQr(page, '.qr-payment')).toBe(uri)
    await page.getByText('Address only').click()
    expect(await readQr(page, '.qr-address')).toBe(await page.locator('#address-value').textContent())
  }
  await context.close()
})

test('all of it works without script, and the language of the URL goes with it', async () => {
  const { slug } = await makeLink()
  const context = await browser.newContext({ javaScriptEnabled: false, locale: 'en-US' })
  const page = await context.newPage()
  await page.goto(`${baseUrl}/l/${slug}?usd=12.50&lang=ar`)
  expect(await page.locator('html').getAttribute('dir')).toBe('rtl')
  await page.locator('#coin-LTC').check()
  await page.locator('#continue').click()
  await page.waitForURL('**/i/*?lang=ar')
  expect(await page.locator('html').getAttribute('lang')).toBe('ar')
  await page.locator('#switch-summary').click()
  await page.locator('#coin-BTC').check()
  await page.locator('#switch-coin').click()
  await expect.poll(() => page.locator('#amount-value').textContent()).toContain('BTC')
  expect(new URL(page.url()).search).toBe('?lang=ar')
  await context.close()
})

test.each([true, false])(
  'a buyer says how much to pay, with script or without (script: %s)',
  async (script) => {
    const { slug } = await makeLink({ usd_amount: undefined })
    const context = await browser.newContext({ javaScriptEnabled: script, locale: 'de-DE' })
    const page = await context.newPage()
    await page.goto(`${baseUrl}/l/${slug}?usd=200000&lang=de`)
    expect(await page.locator('#notice').textContent()).toContain('kann hier nicht gezahlt werden')
    expect(await page.locator('#usd').inputValue()).toBe('200000')
    const before = await invoices()
    await page.locator('#usd').fill('')
    await page.locator('#usd').pressSequentially('12,50')
    await page.locator('#set-amount').click()
    await page.locator('#coin-LTC').waitFor()
    expect((await page.locator('h1').textContent())?.replace(/\s/u, ' ')).toBe('12,50 $')
    // The page asks again where the buyer changes their mind.
    await page.locator('#other-amount summary').click()
    await page.locator('#usd').fill('20')
    await page.locator('#set-amount').click()
    await expect
      .poll(async () => (await page.locator('h1').textContent())?.replace(/\s/u, ' '))
      .toBe('20,00 $')
    expect(await invoices()).toBe(before)
    await page.locator('#coin-LTC').check()
    await page.locator('#continue').click()
    await page.waitForURL('**/i/*?lang=de')
    const { rows } = await api.database.owner.query(
      'select usd_cents::int, amount_source from invoice order by created_at desc limit 1',
    )
    expect(rows).toEqual([{ usd_cents: 2_000, amount_source: 'buyer' }])
    await context.close()
  },
)

/** What the watcher does once it has read past the deadline. */
const expireAll = () =>
  expireInvoices(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    {
      network: 'litecoin-test',
      readAtMs: api.time.now.getTime(),
      tipHeight: 100,
      tipHash: 'ab'.repeat(32),
      providers: ['node.example'],
    },
  )

test('the buyer returns to the shop once nothing is left to send, and nowhere else, whatever the URL says', async () => {
  const returnUrl = `${baseUrl}/from-the-shop?order=7`
  const link = await makeLink()
  const page = await browser.newPage({ locale: 'en-US' })
  const back = page.locator('#shop-back')
  const continued = async () => {
    await page.goto(baseUrl + (await makeSession(link, { return_url: returnUrl })))
    await page.locator('#coin-LTC').check()
    await page.locator('#continue').click()
    await page.waitForURL('**/i/*')
    const { body } = await api.call('GET', '/invoices?limit=1', { key: merchant.testKey })
    return body.data[0]
  }
  const { id: invoiceId, amount } = await continued()
  await page.goto(`${page.url()}?return_url=https%3A%2F%2Fevil.example`)
  expect(await back.count()).toBe(0)
  const units = parseCoinAmount(amount, 8)
  if (units === null) throw new Error(amount)
  const paid = inBlock('ab'.repeat(32), units, 6, { firstSeenMs: api.time.now.getTime() })
  await recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    { tenant: { merchantId: merchant.id, livemode: false }, invoiceId, facts: [paid], tipHeight: 100 },
  )
  await page.reload()
  expect(await back.textContent()).toMatch(/^Back to ./)
  await back.click()
  await page.waitForURL(returnUrl)
  // Nothing of the checkout's URL, which is a secret, is told to the page that comes after.
  expect(await page.evaluate(() => document.referrer)).toBe('')

  await continued()
  api.time.advance(3 * 60 * 60_000)
  await expireAll()
  await page.reload()
  expect(await back.getAttribute('href')).toBe(returnUrl)
  await page.close()
})

/** Where an answer leads, as a path. */
const ledTo = (answer: Response) => new URL(answer.headers.get('location') ?? '', `${baseUrl}/l/x`).pathname

test('pressing Continue twice, sending the form again and going back to the page lead to one payment', async () => {
  const { slug } = await makeLink()
  const before = await invoices()
  for (const javaScriptEnabled of [true, false]) {
    const context = await browser.newContext({ javaScriptEnabled })
    const page = await context.newPage()
    await page.goto(`${baseUrl}/l/${slug}`)
    const visit = (await page.locator('input[name=visit]').getAttribute('value')) ?? ''
    await page.locator('#coin-LTC').check()
    // The first press is on its way when the second one comes.
    await page.locator('#continue').dblclick()
    // The second navigation may end the first one: what counts is where the buyer comes out.
    await expect.poll(() => new URL(page.url()).pathname).toMatch(/^\/i\//)
    const own = new URL(page.url()).pathname
    const again = await post(`/l/${slug}`, [
      ['visit', visit],
      ['asset', 'BTC'],
    ])
    expect([again.status, ledTo(again)]).toEqual([303, own])
    await context.close()
  }
  // One payment for each of the two buyers.
  expect(await invoices()).toBe(before + 2)
})

test('what is loaded again where Continue failed is the same page, with its order and amount', async () => {
  const link = await makeLink({ usd_amount: '5.00' })
  const { owner } = api.database
  for (const [path, price, order] of [
    [await makeSession(link), '$49.99', 1],
    [`/l/${link.slug}?usd=25.00`, '$25.00', 0],
    [`/l/${link.slug}?usd=25.00&lang=de`, '25,00 $', 0],
  ] as const) {
    const page = await browser.newPage({ locale: 'en-US' })
    const shows = async () => {
      expect((await page.locator('h1').textContent())?.replace(/\s/u, ' ')).toBe(price)
      expect(await page.locator('.what-for').count()).toBe(order)
    }
    await page.goto(baseUrl + path)
    await shows()
    await owner.query('alter table address rename to address_away')
    await page.locator('#continue').click()
    await page.locator('.outcome.neutral').waitFor()
    await owner.query('alter table address_away rename to address')
    await page.goto(page.url())
    await shows()
    await page.locator('#continue').click()
    await page.waitForURL('**/i/*')
    await page.close()
  }
})

test('a page gone back to leads to its own payment; when that has expired, to the page that offers it anew', async () => {
  const { slug } = await makeLink()
  const form: [string, string][] = [
    ['visit', randomBase62(22)],
    ['asset', 'LTC'],
  ]
  const path = ledTo(await post(`/l/${slug}`, form))
  api.time.advance(2 * 60 * 60_000)
  await expireAll()
  const again = await post(`/l/${slug}`, form)
  expect([again.status, ledTo(again)]).toEqual([303, path])
  expect(await (await fetch(baseUrl + path)).text()).toContain('id="reopen"')
})

test('every rendering of a link’s page has words of its own, and no cache keeps one', async () => {
  const { slug } = await makeLink()
  const visits = new Set<string>()
  for (let visitor = 0; visitor < 20; visitor++) {
    const answer = await fetch(`${baseUrl}/l/${slug}`)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    visits.add(/name="visit" value="([0-9A-Za-z]{22})"/.exec(await answer.text())?.[1] ?? '')
  }
  expect(visits.size).toBe(20)
  expect(visits.has('')).toBe(false)
})

test('a link’s hostile name is only ever text, in its own language and in the others', async () => {
  const name = `"'><script>alert(1)</script><img src=x onerror=alert(2)>\u202e</title>`.padEnd(120, '{{7*7}}')
  const { slug } = await makeLink({ name })
  const page = await browser.newPage()
  const alerts = complaintsOf(page)
  for (const tag of ['en', 'ar']) {
    await page.goto(`${baseUrl}/l/${slug}?lang=${tag}`)
    expect(await page.locator('.open .lead').textContent()).toBe(name)
    expect(await page.locator('main img, main script').count()).toBe(0)
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    )
  }
  expect(alerts).toEqual([])
  await page.close()
})

test('a link in euros shows them first, takes another amount in euros, and asks for their dollars', async () => {
  const price = { amount: '24.90', currency: 'EUR' }
  const { slug } = await makeLink({ usd_amount: undefined, price })
  const page = await browser.newPage({ locale: 'de-DE', viewport: { width: 390, height: 900 } })
  const alerts = complaintsOf(page)
  const text = async (selector: string) =>
    (await page.locator(selector).textContent())?.replaceAll(/\s/gu, ' ').trim()
  await page.goto(`${baseUrl}/l/${slug}`)
  expect([await text('h1'), await text('.open .price')]).toEqual(['24,90 €', '≈ 27,39 $'])
  expect(await page.locator('.open .price').isVisible()).toBe(true)
  await page.locator('#other-amount summary').click()
  expect(await text('label[for=amount]')).toBe('Betrag in EUR')
  expect(await page.locator('#amount').inputValue()).toBe('24.90')
  await page.locator('#amount').fill('30')
  await photograph(page, 'open-price-amount')
  await page.locator('#set-amount').click()
  await page.waitForURL('**/l/*amount=30&currency=EUR')
  expect([await text('h1'), await text('.open .price')]).toEqual(['30,00 €', '≈ 33,00 $'])
  await photograph(page, 'open-price')
  await page.locator('#continue').click()
  await page.waitForURL('**/i/*')
  const { rows } = await api.database.owner.query(
    'select usd_cents::int, price_amount, price_currency, amount_source from invoice order by created_at desc, id desc limit 1',
  )
  expect(rows).toEqual([
    { usd_cents: 3_300, price_amount: '30.00', price_currency: 'EUR', amount_source: 'buyer' },
  ])
  expect(alerts).toEqual([])
  await page.close()
})

const TIP = { currency: 'EUR', minimum: '2', maximum: '500', suggested: ['5', '10', '25'] }

test.each([true, false])(
  'a tip is one press on a suggested amount, or one’s own within the limits (script: %s)',
  async (script) => {
    const { slug } = await makeLink({ name: 'Tips', usd_amount: undefined, buyer_amount: TIP })
    const context = await browser.newContext({
      javaScriptEnabled: script,
      locale: 'de-DE',
      viewport: { width: 390, height: 900 },
    })
    const page = await context.newPage()
    const alerts = complaintsOf(page)
    const heading = async () => (await page.locator('h1').textContent())?.replaceAll(/\s/gu, ' ').trim()
    await page.goto(`${baseUrl}/l/${slug}?lang=de`)
    const list = page.getByRole('list', { name: 'Vorgeschlagene Beträge' })
    expect((await list.getByRole('link').allTextContents()).map((text) => text.replace(/\s/gu, ' '))).toEqual(
      ['5,00 €', '10,00 €', '25,00 €'],
    )
    expect((await page.locator('#usd-limits').textContent())?.replaceAll(/\s/gu, ' ')).toBe(
      'Von 2,00 € bis 500,00 €.',
    )
    expect(await page.locator('label[for=amount]').textContent()).toBe('Betrag in EUR')
    await photograph(page, 'tip-phone')
    // By keyboard alone.
    await list.getByRole('link').nth(1).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL('**/l/*?amount=10.00&currency=EUR&lang=de')
    expect(await heading()).toBe('10,00 €')
    expect(await list.locator('[aria-current=true]').allTextContents()).toHaveLength(1)
    await photograph(page, 'tip-chosen-phone')
    await page.locator('#other-amount summary').click()
    await page.locator('#amount').fill('7,50')
    await page.locator('#set-amount').click()
    await page.waitForURL('**/l/*amount=7%2C50&currency=EUR')
    await page.locator('#coin-LTC').check()
    await page.locator('#continue').click()
    await page.waitForURL('**/i/*')
    const { rows } = await api.database.owner.query(
      'select price_amount, price_currency, amount_source from invoice order by created_at desc, id desc limit 1',
    )
    expect(rows).toEqual([{ price_amount: '7.50', price_currency: 'EUR', amount_source: 'buyer' }])
    expect(alerts).toEqual([])
    await context.close()
  },
)

test('a tip beyond the limits is asked for again, however it is sent, and makes nothing', async () => {
  const { slug } = await makeLink({ name: 'Tips', usd_amount: undefined, buyer_amount: TIP })
  const before = await invoices()
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } })
  for (const query of ['amount=1.99&currency=EUR', 'amount=500.01&currency=EUR', 'usd=2.19', 'usd=551']) {
    const answer = await page.goto(`${baseUrl}/l/${slug}?${query}`)
    expect(answer?.status(), query).toBe(400)
    expect(await page.locator('#notice').textContent()).toContain('cannot be paid here')
    expect((await page.locator('#usd-limits').textContent())?.trim()).toBe('From €2.00 to €500.00.')
    const fields = new URLSearchParams(query)
    fields.set('visit', randomBase62(22))
    fields.set('asset', 'LTC')
    expect((await post(`/l/${slug}`, [...fields])).status, query).toBe(400)
  }
  await photograph(page, 'tip-refused')
  await page.goto(`${baseUrl}/l/${slug}`)
  await photograph(page, 'tip')
  await page.getByRole('link', { name: '€25.00' }).click()
  await page.locator('#continue').waitFor()
  await photograph(page, 'tip-chosen')
  expect(await invoices()).toBe(before)
  await page.close()
})

test('an amount in euros that cannot be paid is asked for again in euros', async () => {
  const { slug } = await makeLink({ usd_amount: undefined, price: { amount: '24.90', currency: 'EUR' } })
  const page = await browser.newPage()
  await page.goto(`${baseUrl}/l/${slug}?amount=0.30&currency=EUR`)
  expect(await page.locator('label[for=amount]').textContent()).toBe('Amount in EUR')
  expect(await page.locator('#amount').inputValue()).toBe('0.30')
  await page.locator('#amount').fill('30')
  await page.locator('#set-amount').click()
  await page.waitForURL('**/l/*amount=30&currency=EUR')
  expect(await page.locator('h1').textContent()).toBe('€30.00')
  await page.close()
})

test('opening, reloading, prefetching and asking for the head make nothing', async () => {
  const { slug } = await makeLink()
  const session = await makeSession(await makeLink())
  const before = await invoices()
  for (const path of [`/l/${slug}`, `/l/${slug}?usd=5`, session]) {
    for (const method of ['GET', 'HEAD'])
      expect((await fetch(baseUrl + path, { method, headers: { purpose: 'prefetch' } })).status).toBe(200)
  }
  expect(await invoices()).toBe(before)
})

test('a coin without a price disables its card alone, and says why', async () => {
  const { slug } = await makeLink()
  api.unpriced.add('BTC')
  const page = await browser.newPage()
  await page.goto(`${baseUrl}/l/${slug}`)
  expect(await page.locator('#coin-BTC').isDisabled()).toBe(true)
  expect(await page.locator('label[for=coin-BTC]').textContent()).toContain('No current price')
  expect(await page.locator('#coin-LTC').isEnabled()).toBe(true)
  const refused = await post(`/l/${slug}`, [
    ['visit', randomBase62(22)],
    ['asset', 'BTC'],
  ])
  expect(refused.status).toBe(503)
  expect(await refused.text()).toContain('That coin cannot be used right now')
  for (const asset of ASSET_IDS) api.unpriced.add(asset)
  await page.reload()
  expect(await page.locator('#continue').count()).toBe(0)
  expect(await page.locator('main').textContent()).toContain('No coin can be used right now')
  api.unpriced.clear()
  await page.close()
})

test('an expired payment of a link has two answers, and one click gives it again at the current price', async () => {
  const { slug } = await makeLink()
  const path = ledTo(
    await post(`/l/${slug}`, [
      ['visit', randomBase62(22)],
      ['asset', 'LTC'],
    ]),
  )
  api.time.advance(2 * 60 * 60_000)
  await expireAll()
  const page = await browser.newPage()
  await page.goto(baseUrl + path)
  await page.locator('#watch').click()
  await expect.poll(() => page.locator('#watching').count()).toBe(1)
  expect(await page.locator('#reopen').count()).toBe(0)
  await page.goBack()
  await page.locator('#reopen').click()
  await expect.poll(() => page.locator('h1').textContent()).toMatch(/^Send [0-9.]+ LTC$/)
  expect(new URL(page.url()).pathname).not.toBe(path)
  const reopened = new URL(page.url()).pathname
  const again = await post(`${path}?form=reopen`, [])
  expect(new URL(again.headers.get('location') ?? '', `${baseUrl}${path}?form=reopen`).pathname).toBe(
    reopened,
  )
  await page.close()
})

test('hostile, doubled and over-long values get plain words, the right status, and write nothing', async () => {
  const { slug } = await makeLink()
  const fixed = await makeLink({ allow_dynamic_amount: false })
  const session = await makeSession(await makeLink())
  const token = new URL(session, baseUrl).searchParams.get('checkout_token') ?? ''
  const before = await invoices()
  const long = 'x'.repeat(5_000)
  const visit = randomBase62(22)
  const gets: [string, number][] = [
    ['/l/', 404],
    ['/l/pl_none', 404],
    [`/l/${slug.toLowerCase()}!`, 404],
    ['/l/%00', 404],
    ['/l/%ff%fe', 404],
    ['/l/..%2f..%2fetc', 404],
    [`/l/${long}`, 404],
    [`/l/${slug}?usd=5&usd=6`, 400],
    [`/l/${slug}?usd=`, 400],
    [`/l/${slug}?usd=0`, 400],
    [`/l/${slug}?usd=1e3`, 400],
    [`/l/${slug}?usd=-5`, 400],
    [`/l/${slug}?usd=5.001`, 400],
    // A thousand, or one.
    [`/l/${slug}?usd=1,000`, 400],
    [`/l/${slug}?amount=500,00&currency=JPY`, 400],
    [`/l/${slug}?usd=100001`, 400],
    [`/l/${slug}?usd=${encodeURIComponent('<script>alert(1)</script>')}`, 400],
    [`/l/${slug}?usd=%D9%A5`, 400],
    [`/l/${slug}?usd=${long}`, 400],
    [`/l/${fixed.slug}?usd=5`, 400],
    [`/l/${slug}?checkout_token=`, 404],
    [`/l/${slug}?checkout_token=${token}`, 404],
    [`${session}&checkout_token=x`, 404],
    [`${session}x`, 404],
    [`${session}&usd=5`, 404],
    [`/l/${slug}?checkout_token=${long}`, 404],
    [`/l/${slug}?lang=${long}`, 200],
    [`/l/${slug}?lang=de&lang=ar`, 200],
    [`/l/${slug}?lang=${encodeURIComponent('"><script>alert(1)</script>')}`, 200],
    [`/l/${slug}?utm_source=mail&__proto__=1`, 200],
  ]
  for (const [path, status] of gets) {
    const answer = await fetch(baseUrl + path)
    const text = await answer.text()
    expect([path.slice(0, 80), answer.status]).toEqual([path.slice(0, 80), status])
    expect(text).toMatch(/<h1[ >]/)
    expect(text).not.toContain('<script>alert')
    expect(text).not.toMatch(/at .*\.[jt]s:|stack/i)
  }
  const posts: [string, [string, string][] | string, number, Record<string, string>?][] = [
    [`/l/${slug}`, '', 400],
    [`/l/${slug}`, [['asset', 'DOGE']], 400],
    [`/l/${slug}`, [['asset', '__proto__']], 400],
    [`/l/${slug}`, 'asset=LTC&asset=BTC', 400],
    [
      `/l/${slug}`,
      [
        ['asset', 'LTC'],
        ['extra', '1'],
      ],
      400,
    ],
    [`/l/${slug}`, `asset=LTC&usd=${long}`, 400],
    [`/l/${slug}`, 'asset=LTC', 400],
    [`/l/${slug}`, 'asset=LTC&visit=', 400],
    [`/l/${slug}`, `asset=LTC&visit=${long}`.slice(0, 3_000), 400],
    [`/l/${slug}`, `asset=LTC&visit=${visit}&visit=${visit}`, 400],
    [`/l/${slug}`, `asset=LTC&visit=${visit}%00`, 400],
    [`/l/${slug}`, `asset=LTC&visit=${visit}&usd=-1`, 400],
    [
      `/l/${slug}`,
      [
        ['asset', 'LTC'],
        ['checkout_token', 'x'],
      ],
      404,
    ],
    [
      `/l/${slug}`,
      [
        ['asset', 'LTC'],
        ['checkout_token', token],
      ],
      404,
    ],
    ['/l/pl_0000000000', `asset=LTC&visit=${visit}`, 404],
    [`/l/${slug}`, '{"asset":"LTC"}', 400, { 'content-type': 'application/json' }],
    [`/l/${slug}`, `asset=LTC&visit=${visit}`, 400, { 'sec-fetch-site': 'cross-site' }],
    [`/l/${slug}`, `asset=LTC&visit=${visit}`, 400, { 'sec-fetch-site': 'same-site' }],
  ]
  for (const [path, form, status, headers] of posts) {
    const answer = await post(path, form, headers)
    const told = typeof form === 'string' ? form.slice(0, 40) : form
    expect([told, answer.status]).toEqual([told, status])
    expect(await answer.text()).toMatch(/<h1[ >]/)
  }
  for (const method of ['PUT', 'DELETE', 'PATCH'])
    expect((await fetch(`${baseUrl}/l/${slug}`, { method })).status).toBe(404)
  expect(await invoices()).toBe(before)
})

test('a flood from one caller makes no more than its share, in plain words, and stops nobody else', async () => {
  const own = await startBuyersSite(api)
  try {
    const { slug } = await makeLink()
    const before = await invoices()
    const press = (caller: string) =>
      fetch(`${own.url}/l/${slug}`, {
        method: 'POST',
        redirect: 'manual',
        // Who it is, as a proxy of ours tells.
        headers: { 'x-forwarded-for': caller, 'x-paylink-client-address': '192.0.2.1' },
        body: new URLSearchParams({ visit: randomBase62(22), asset: 'LTC' }),
      })
    // One household's network is one caller, however many addresses it uses.
    const startedAt = performance.now()
    const flood = await Promise.all(Array.from({ length: 60 }, (_, at) => press(`2001:db8:0:1::${at + 1}`)))
    const seconds = (performance.now() - startedAt) / 1_000
    const made = flood.filter(({ status }) => status === 303).length
    expect(made).toBeGreaterThan(0)
    // Ten at once, and five for each second that the flood takes.
    expect(made).toBeLessThanOrEqual(10 + 5 * seconds)
    const refused = flood.filter(({ status }) => status === 429)
    expect(refused.length).toBe(60 - made)
    expect(await refused[0]?.text()).toContain('Please wait a few seconds')
    expect((await press('2001:db8:0:2::1')).status).toBe(303)
    expect((await press('198.51.100.7')).status).toBe(303)
    expect(await invoices()).toBe(before + made + 2)
  } finally {
    await own.stop()
  }
})

test('a session’s URL that was swapped, changed, or whose time is over gives the one neutral page', async () => {
  const path = await makeSession(await makeLink(), { expires_in_minutes: 5 })
  const other = await makeLink()
  const swapped = path.replace(/\/l\/[^?]*/, `/l/${other.slug}`)
  const neutral = await (await fetch(`${baseUrl}/l/pl_0000000000`)).text()
  expect(await (await fetch(baseUrl + swapped)).text()).toBe(neutral)
  expect(await (await fetch(`${baseUrl}${path}A`)).text()).toBe(neutral)
  api.time.advance(6 * 60_000)
  const late = await fetch(baseUrl + path)
  expect([late.status, await late.text()]).toEqual([404, neutral])
  const pressed = await post(path.replace(/\?.*/, ''), [
    ['asset', 'LTC'],
    ['checkout_token', new URL(path, baseUrl).searchParams.get('checkout_token') ?? ''],
  ])
  expect([pressed.status, await pressed.text()]).toEqual([404, neutral])
})
