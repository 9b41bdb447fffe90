import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { TEST_CARDS } from '../../src/core/card/test-cards.ts'
import { type App, makePlace, startApp } from '../support/app.ts'
import { type Body, invoicesOf } from '../support/app-invoices.ts'
import { launchBrowser, photograph } from '../support/browser.ts'
import { complaintsOf } from '../support/page-checks.ts'

let place: Awaited<ReturnType<typeof makePlace>>
let app: App
beforeAll(async () => {
  place = await makePlace()
  app = await startApp(place)
  await untilAllAreAvailable()
})
afterAll(async () => {
  await app.stop()
  await place.remove()
})

const {
  create: invoiceIn,
  eventsOf,
  pay,
  untilAllAreAvailable,
  untilStatus,
  untilTold,
} = invoicesOf(() => app)

test('an invoice that names no coin is in USDC on Base, and its link names the sandbox', async () => {
  const made = await app.api('POST', '/api/v1/invoices', { usd_amount: '25.00' })
  expect(made.body).toMatchObject({ asset: 'USDC_BASE', amount: '25' })
  const { address, payment_uri } = made.body as Body
  expect(payment_uri).toBe(
    `ethereum:0x5FbDB2315678afecb367f032d93F642f64180aa3@31338/transfer?address=${address}&uint256=25000000`,
  )
})

for (const asset of ['ETH', 'ETH_BASE', 'USDC_BASE']) {
  test(`${asset}: a test payment is paid, reported step by step, and partial ones add up`, async () => {
    const exact = await invoiceIn(asset)
    expect((await pay(exact.id, 'exact')).status).toBe(200)
    const parts = await invoiceIn(asset)
    expect((await pay(parts.id, 'two_parts')).status).toBe(200)
    await untilStatus(exact.id, 'paid')
    expect(await eventsOf(exact.id)).toEqual([
      'invoice.created',
      'invoice.payment_detected',
      'invoice.confirming',
      'invoice.paid',
    ])
    await untilStatus(parts.id, 'paid')
    expect(await eventsOf(parts.id)).toContain('invoice.partially_paid')
  })
}

test('a replaced payment leaves the invoice open; a reorganisation takes a paid one back until it returns', async () => {
  const replaced = await invoiceIn('ETH')
  await pay(replaced.id, 'double_spend')
  await untilTold(replaced.id, 'invoice.confirming')
  const open = await untilStatus(replaced.id, 'awaiting_payment')
  expect(open.payments).toMatchObject([{ status: 'reorged' }])
  const reorganised = await invoiceIn('USDC_BASE')
  await pay(reorganised.id, 'reorg')
  expect(await untilTold(reorganised.id, 'invoice.manual_review')).toMatchObject({ status_reason: 'reorged' })
  await untilStatus(reorganised.id, 'paid')
  expect((await eventsOf(reorganised.id)).filter((type) => type === 'invoice.paid')).toHaveLength(1)
})

test('what the README says pays an invoice by plain JSON-RPC', async () => {
  const invoice = await invoiceIn('ETH')
  const { port, password } = JSON.parse(
    await readFile(join(app.dataDir, 'sandbox', 'ethereum', 'rpc.json'), 'utf8'),
  )
  const wei = BigInt(Math.round(Number(invoice.amount) * 1e9)) * 10n ** 9n
  const answer = await fetch(`http://127.0.0.1:${port}`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`sandbox:${password}`).toString('base64')}` },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_sendTransaction',
      params: [
        {
          from: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
          to: invoice.address,
          value: `0x${wei.toString(16)}`,
        },
      ],
    }),
  })
  expect(await answer.json()).toMatchObject({ result: expect.stringMatching(/^0x[0-9a-f]{64}$/) })
  await untilStatus(invoice.id, 'paid')
})

/** A buyer without script and without a wallet, from an address of their own. */
function buyerOf(invoice: Body) {
  const path = new URL(String(invoice.checkout_url)).pathname
  const from = { 'x-forwarded-for': `203.0.113.${++buyers}` }
  const get = async (below: string) => (await fetch(app.baseUrl + path + below, { headers: from })).text()
  const post = (below: string, form: { [name: string]: string }) =>
    fetch(app.baseUrl + path + below, {
      method: 'POST',
      body: new URLSearchParams(form),
      redirect: 'manual',
      headers: from,
    })
  /** Asks for offers, takes the sandbox's, and stands before its card page. */
  const begin = async (): Promise<string> => {
    expect((await post('/card', { place: 'DE' })).status).toBe(303)
    const purchase = /name="purchase" value="(card_[0-9a-z]{26})"/.exec(await get('/card'))?.[1] ?? ''
    const leaving = await post('/card/leave', { purchase })
    expect(await leaving.text()).toContain(`content="0;url=./test?purchase=${purchase}"`)
    return purchase
  }
  const pay = async (purchase: string, number: string) => await post('/card/test', { purchase, number })
  return { get, post, begin, pay }
}
let buyers = 0

test('a test card buys USDC on Base, which pays the invoice over the chain; pressed twice it buys once', async () => {
  const invoice = await invoiceIn('USDC_BASE')
  const buyer = buyerOf(invoice)
  expect(await buyer.get('')).toContain('id="by-card"')
  const purchase = await buyer.begin()
  expect(await buyer.get('')).toContain('Waiting for Paylink Sandbox')
  const presses = await Promise.all([1, 2, 3].map(() => buyer.pay(purchase, TEST_CARDS.approved)))
  expect(presses.map(({ status }) => status)).toEqual([303, 303, 303])
  const paid = await untilStatus(invoice.id, 'paid')
  expect(paid.payments).toMatchObject([{ asset: 'USDC_BASE', amount: '25', status: 'confirmed' }])
  expect(await buyer.get('')).toContain('Payment complete')
})

test('each test card does what the page says: declined and abandoned pay nothing, another then pays', {
  tags: ['chromium'],
  timeout: 180_000,
}, async () => {
  const browser = await launchBrowser()
  try {
    const page = await browser.newPage({ locale: 'en-US', viewport: { width: 800, height: 900 } })
    const alerts = complaintsOf(page)
    const heading = page.locator('#heading')
    const shows = async (words: RegExp, name: string) => {
      await expect.poll(() => heading.textContent().catch(() => '')).toMatch(words)
      await photograph(page, `sandbox-card-${name}`)
    }
    /** From the invoice's page to the card page, by what a buyer presses. */
    const begin = async (link: string) => {
      await page.goto(link)
      await page.locator('#method-card').click()
      await page.locator('#by-card').click()
      await page.locator('#place').selectOption('DE')
      await page.locator('#card-ask').click()
      await page.locator('#leave-sandbox').click()
      await page.waitForURL('**/card/test?*')
      await expect.poll(() => heading.textContent()).toBe('Test card')
    }
    const pay = async (number: string) => {
      await page.locator('#number').fill(number)
      await page.locator('#test-card-pay').click()
    }
    const link = (invoice: Body) => app.baseUrl + new URL(String(invoice.checkout_url)).pathname

    const invoice = await invoiceIn('USDC_BASE')
    const own = link(invoice)
    await begin(own)
    await pay('4111 1111 1111 1111')
    await expect.poll(() => page.locator('#notice').textContent()).toBe('That is none of the test numbers.')
    await pay(TEST_CARDS.declined)
    await expect.poll(() => page.locator('#notice').textContent()).toContain('The card was declined')
    await shows(/^Test card$/, 'declined')
    await pay(TEST_CARDS.abandoned)
    await page.waitForURL(own)
    await shows(/^Send 25\.00 USDC$/, 'declined-then-abandoned')
    expect(await page.locator('#card-declined').textContent()).toContain('did not go through')
    expect((await app.api('GET', `/api/v1/invoices/${invoice.id}`)).body).toMatchObject({
      status: 'awaiting_payment',
      payments: [],
    })
    await begin(own)
    await pay(TEST_CARDS.under)
    await shows(/^Send 15\.00 USDC more$/, 'under')
    await untilStatus(invoice.id, 'partially_paid')
    await begin(own)
    await pay(TEST_CARDS.slow)
    await shows(/^Waiting for Paylink Sandbox$/, 'slow')
    expect(await page.locator('#card-waiting').textContent()).toContain('is about to send')
    await shows(/^Payment complete$/, 'slow-paid')

    const left = link(await invoiceIn('USDC_BASE'))
    await begin(left)
    await pay(TEST_CARDS.abandoned)
    await page.waitForURL(left)
    await shows(/^Waiting for Paylink Sandbox$/, 'abandoned')
    await page.locator('#card-again').click()
    await page.locator('#place').selectOption('DE')
    await page.locator('#card-ask').click()
    await page.locator('#leave-sandbox').click()
    await page.waitForURL('**/card/test?*')
    await pay(TEST_CARDS.approved)
    await shows(/^Payment complete$/, 'approved')
    expect(alerts.filter((alert) => !alert.includes('400'))).toEqual([])
  } finally {
    await browser.close()
  }
})

test('a card buys USDC on Base for an invoice in another coin, unless the buyer picked that coin', async () => {
  const make = async () =>
    (
      await app.api('POST', '/api/v1/invoices', {
        usd_amount: '25.00',
        asset: 'ETH',
        allow_asset_selection: true,
      })
    ).body as Body
  const assetOf = async ({ id }: Body) =>
    ((await app.api('GET', `/api/v1/invoices/${id}`)).body as Body).asset
  const usual = await make()
  await buyerOf(usual).begin()
  expect(await assetOf(usual)).toBe('USDC_BASE')
  const chosen = await make()
  const buyer = buyerOf(chosen)
  await buyer.post('?form=switch', { asset: 'ETH_BASE' })
  const purchase = await buyer.begin()
  expect(await assetOf(chosen)).toBe('ETH_BASE')
  await buyer.pay(purchase, TEST_CARDS.approved)
  expect((await untilStatus(chosen.id, 'paid')).payments).toMatchObject([{ asset: 'ETH_BASE' }])
})
