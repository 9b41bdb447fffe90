import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { parseCoinbaseKey } from '../../src/config/config-onramps.ts'
import { expireInvoices } from '../../src/flows/expire-invoices.ts'
import { resolveInvoice } from '../../src/flows/invoices.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { type Onramps, openOnramps } from '../../src/onramp/open-onramps.ts'
import { addAddresses, createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { launchBrowser } from '../support/browser.ts'
import { startBuyersSite } from '../support/buyers-site.ts'
import {
  COINBASE_KEY_ID,
  coinbaseKey,
  coinbaseWebhook,
  MOONPAY_KEYS,
  moonpayWebhook,
  startFakeCoinbase,
  startFakeMoonpay,
} from '../support/fake-onramps.ts'
import { inBlock } from '../support/invoice.ts'
import { complaintsOf } from '../support/page-checks.ts'
import { until } from '../support/until.ts'

/** Paying by card in live mode: real database, pages and browser; providers that check what the real ones check. */

const COINBASE_SECRET = 'coinbase-webhook-secret'
const MOONPAY_KEY = 'wk_live_heron'

type Site = Awaited<ReturnType<typeof startBuyersSite>>
let api: TestApi
let merchant: TestMerchant
let coinbase: Awaited<ReturnType<typeof startFakeCoinbase>>
let moonpay: Awaited<ReturnType<typeof startFakeMoonpay>>
let onramps: Onramps
let site: Site
let browser: Browser | null = null

beforeAll(async () => {
  api = await createTestApi()
  merchant = await api.addMerchant()
  const { owner } = api.database
  await owner.query(
    `insert into network_state (network, parameters, height, hash, tip_height, status, updated_at)
     values ('base-live', 'base', 100, 'hash', 100, 'ok', now())`,
  )
  await owner.query(
    `insert into network_watch (network, keyspace, through, updated_at) values ('base-live', 'evm-live', 1000000000, now())`,
  )
  await addAddresses(api.database, 'evm-live', 'evm', 90)
  await owner.query(`update address set address = '0x' || encode(program, 'hex') where keyspace = 'evm-live'`)
  const key = coinbaseKey('ed25519')
  const keySecret = parseCoinbaseKey(key.secret)
  if (keySecret === null) throw new Error('no key')
  coinbase = await startFakeCoinbase(key.publicKey, api.deps.clock)
  moonpay = await startFakeMoonpay()
  const urls = { apiUrl: coinbase.url, optionsUrl: coinbase.url }
  onramps = openOnramps(
    {
      coinbase: { keyId: COINBASE_KEY_ID, keySecret, ...urls, webhookSecret: COINBASE_SECRET },
      moonpay: { ...MOONPAY_KEYS, apiUrl: moonpay.url, widgetUrl: moonpay.url, webhookKey: MOONPAY_KEY },
    },
    { clock: api.deps.clock },
  )
  site = await startBuyersSite(api, { onramps, formsPerSecond: 1_000 })
})
beforeEach(() => {
  for (const fake of [coinbase, moonpay]) {
    fake.trouble.clear()
    fake.requests.length = 0
  }
})
afterAll(async () => {
  await browser?.close()
  await site?.stop()
  await onramps?.close()
  await coinbase?.close()
  await moonpay?.close()
  await api?.drop()
})

type Made = { id: string; path: string; address: string }
async function openBrowser(): Promise<Browser> {
  browser ??= await launchBrowser()
  return browser
}

async function makeInvoice(change: object = {}, key = merchant.liveKey): Promise<Made> {
  const body = { usd_amount: '49.99', asset: 'USDC_BASE', ...change }
  const made = await api.call('POST', '/invoices', { key, body })
  if (made.status !== 201) throw new Error(made.text)
  const { id, checkout_url, address } = made.body
  return { id, path: new URL(checkout_url).pathname, address }
}
/** A page without what every page has: its script and style. */
const get = async (path: string, from = site) =>
  (await (await fetch(from.url + path)).text()).replaceAll(/<(script|style)>.*?<\/\1>/gs, '')
const post = (path: string, form: { [name: string]: string }, headers: { [name: string]: string } = {}) =>
  fetch(site.url + path, { method: 'POST', body: new URLSearchParams(form), redirect: 'manual', headers })
const sessions = () => coinbase.requests.filter(({ path }) => path.endsWith('/sessions')).length
/** Purchases left for before are asked about meanwhile; that is another matter. */
const asksForOffers = () =>
  [...coinbase.requests, ...moonpay.requests].filter(({ path }) => !path.endsWith('/transactions')).length
const purchaseIn = (html: string, provider: string): string =>
  new RegExp(`id="offer-${provider}".*?name="purchase" value="(card_[0-9a-z]{26})"`, 's').exec(html)?.[1] ??
  ''

/** Asks for offers and leaves for a provider. */
async function leaveFor(made: Made, provider: string, place = 'US-CA'): Promise<string> {
  expect((await post(`${made.path}/card`, { place })).status).toBe(303)
  const purchase = purchaseIn(await get(`${made.path}/card`), provider)
  expect((await post(`${made.path}/card/leave`, { purchase })).status).toBe(200)
  return purchase
}

test('a buyer sees provider, price, fees and minimum, leaves, comes back, and the page waits for news', {
  tags: ['chromium'],
}, async () => {
  const made = await makeInvoice()
  const page = await (await openBrowser()).newPage()
  const alerts = complaintsOf(page)
  await page.goto(site.url + made.path)
  await page.locator('#method-card').click()
  await page.locator('#by-card').click()
  await page.locator('#place').selectOption('US-CA')
  expect(asksForOffers()).toBe(0)
  await page.locator('#card-ask').click()
  const offer = page.locator('#offer-coinbase')
  await expect.poll(() => offer.textContent()).toContain('You pay $51.24')
  expect(await offer.textContent()).toContain('Of that, fees: $1.25')
  expect(await offer.textContent()).toContain('Smallest purchase: $5.00')
  expect(await page.locator('#offer-moonpay').textContent()).toContain('You pay $54.00')
  await page.locator('#leave-coinbase').click()
  await page.waitForURL(`${coinbase.url}/buy?sessionToken=*`)
  expect(alerts).toEqual([])
  // What a provider adds to the way back is not believed.
  await page.goto(`${site.url}${made.path}?transactionStatus=completed&transactionId=1`)
  expect(await page.locator('h1').textContent()).toBe('Waiting for Coinbase')
  expect(await page.locator('#qr-payment').count()).toBe(0)
  await page.locator('#pay-other').click()
  expect(await page.locator('h1').textContent()).toMatch(/^Send .* USDC$/)
  await page.close()
})

test('without script the way is the same, and Back leads to offers and not to a used session', {
  tags: ['chromium'],
}, async () => {
  const made = await makeInvoice()
  const context = await (await openBrowser()).newContext({ javaScriptEnabled: false, locale: 'ar' })
  const page = await context.newPage()
  await page.goto(`${site.url}${made.path}/card`)
  await page.locator('#place').selectOption('DE')
  await page.locator('#card-ask').click()
  await page.locator('#leave-moonpay').click()
  await page.waitForURL(`${moonpay.url}/?apiKey=*`)
  expect(await page.textContent('body')).toContain('opened')
  await page.goBack()
  expect(await page.locator('html').getAttribute('dir')).toBe('rtl')
  await context.close()
})

test('ten presses at once make one session each, and a press after leaving makes a new one', async () => {
  const made = await makeInvoice()
  const presses = await Promise.all(
    Array.from({ length: 10 }, () => post(`${made.path}/card`, { place: 'US-CA' })),
  )
  expect(presses.map(({ status }) => status)).toEqual(Array(10).fill(303))
  expect(sessions()).toBe(1)
  expect(moonpay.requests.filter(({ path }) => path.endsWith('/buy_quote'))).toHaveLength(1)
  const purchase = purchaseIn(await get(`${made.path}/card`), 'coinbase')
  const left = await Promise.all([1, 2, 3].map(() => post(`${made.path}/card/leave`, { purchase })))
  const pages = await Promise.all(left.map((answer) => answer.text()))
  expect(new Set(pages.map((html) => /0;url=([^"]+)/.exec(html)?.[1])).size).toBe(1)
  expect(sessions()).toBe(1)
  api.time.advance(60_000)
  await post(`${made.path}/card`, { place: 'US-CA' })
  expect(sessions()).toBe(2)
})

test('an offer that is over is not left for, and neither is another invoice’s', async () => {
  const [made, other] = [await makeInvoice(), await makeInvoice()]
  await post(`${made.path}/card`, { place: 'US-CA' })
  const purchase = purchaseIn(await get(`${made.path}/card`), 'coinbase')
  const foreign = await post(`${other.path}/card/leave`, { purchase })
  expect([foreign.status, foreign.headers.get('location')]).toEqual([303, '../card?over=1'])
  expect(await get(`${other.path}/card?over=1`)).toContain('That offer is over')
  api.time.advance(5 * 60_000)
  expect((await post(`${made.path}/card/leave`, { purchase })).status).toBe(303)
  expect(await get(`${made.path}/card`)).not.toContain('id="offer-coinbase"')
  expect(await get(made.path)).not.toContain('Waiting for')
})

test('an offer over another coin or amount than is to pay now is neither shown nor left for', async () => {
  const made = await makeInvoice({ allow_asset_selection: true })
  await post(`${made.path}/card`, { place: 'DE' })
  const html = await get(`${made.path}/card`)
  const [purchase, other] = [purchaseIn(html, 'coinbase'), purchaseIn(html, 'moonpay')]
  expect((await post(`${made.path}?form=switch`, { asset: 'LTC' })).status).toBe(303)
  expect((await post(`${made.path}/card/leave`, { purchase })).status).toBe(303)
  expect((await post(`${made.path}/card/leave`, { purchase: other })).status).toBe(303)
  expect(await get(`${made.path}/card`)).not.toContain('id="offer-coinbase"')
  expect(await get(made.path)).not.toContain('Waiting for')
  // The buyer picked it: a card buys that one now.
  await leaveFor(made, 'coinbase', 'DE')
  const asked = coinbase.requests.findLast(({ path }) => path.endsWith('/sessions'))
  expect(JSON.parse(asked?.body ?? '')).toMatchObject({
    purchaseCurrency: 'LTC',
    destinationNetwork: 'litecoin',
  })
})

async function cancel({ id }: Made): Promise<void> {
  expect((await api.call('POST', `/invoices/${id}/cancel`, { key: merchant.liveKey })).status).toBe(200)
}

/** The merchant takes the little that came as full payment. */
async function acceptShort({ id: invoiceId }: Made): Promise<void> {
  const tenant = { merchantId: merchant.id, livemode: true }
  const networkFacts = { tipHeightOf: () => null }
  const word = {
    resolution: 'accept',
    note: null,
    actor: 'usr_owner',
    networkFacts,
    requestId: 'req_test',
  } as const
  expect((await resolveInvoice(api.deps, { tenant, invoiceId, ...word })).kind).toBe('resolved')
}

test.each([
  { what: 'was cancelled', came: 0n, end: cancel },
  { what: 'is past its deadline', came: 0n, end: async () => api.time.advance(2 * 60_000 + 1) },
  { what: 'was accepted as it is', came: 100_000n, end: acceptShort },
])(
  'nobody is sent to pay by card for an invoice that $what since the offers were made',
  async ({ came, end }) => {
    const made = await makeInvoice({ asset: 'LTC', allow_asset_selection: false })
    const { body } = await api.call('GET', `/invoices/${made.id}`, { key: merchant.liveKey })
    api.time.advance(Date.parse(body.expires_at) - api.deps.clock().getTime() - 2 * 60_000)
    if (came > 0n) await receive(made, came)
    await post(`${made.path}/card`, { place: 'DE' })
    const purchase = purchaseIn(await get(`${made.path}/card`), 'moonpay')
    expect(purchase).not.toBe('')
    await end(made)
    const left = await post(`${made.path}/card/leave`, { purchase })
    expect([left.status, left.headers.get('location')]).toEqual([303, made.path.replace('/i/', '../../')])
    expect(await get(made.path)).not.toContain('Waiting for')
  },
)

/** So much arrives from the provider, and is final at once. */
async function receive(made: Made, amount: bigint) {
  const { id } = made
  const firstSeenMs = api.deps.clock().getTime()
  const at = { asset: 'LTC', network: 'litecoin-live', firstSeenMs } as const
  await recordTransfers(
    { pool: api.database.pools.watcher, clock: api.deps.clock },
    {
      tenant: { merchantId: merchant.id, livemode: true },
      invoiceId: id,
      facts: [inBlock(id, amount, 100, at)],
      tipHeight: 200,
    },
  )
  const { body } = await api.call('GET', `/invoices/${id}`, { key: merchant.liveKey })
  const { rows } = await api.database.owner.query<{ event_type: string }>(
    'select event_type from event where resource_id = $1 order by sequence',
    [id],
  )
  return { status: body.status, confirmed: body.amount_confirmed, event: rows.at(-1)?.event_type }
}

test('what a card purchase rounds up does not overpay the invoice, and whatever is more than that does', async () => {
  const pick = (made: Made, asset: string) => post(`${made.path}?form=switch`, { asset })
  const make = async () => {
    const made = await makeInvoice({ allow_asset_selection: true })
    await pick(made, 'LTC')
    return made
  }
  const [paid, back, over, wallet] = [await make(), await make(), await make(), await make()]
  for (const made of [paid, back, over]) await leaveFor(made, 'moonpay', 'DE')
  for (const asset of ['BTC', 'LTC']) await pick(back, asset)
  // MoonPay sells Litecoin by the ten-thousandth.
  const { body } = await api.call('GET', `/invoices/${paid.id}`, { key: merchant.liveKey })
  const sold = Math.ceil(Number(body.amount) * 10_000)
  expect(Number(body.amount)).toBeLessThan(sold / 10_000)
  const [bought, settled] = [BigInt(sold) * 10_000n, { status: 'paid', event: 'invoice.paid' }]
  expect(await receive(paid, bought)).toEqual({ ...settled, confirmed: String(sold / 10_000) })
  expect(await receive(back, bought)).toMatchObject(settled)
  expect(await receive(over, bought + 1n)).toMatchObject({ status: 'overpaid', event: 'invoice.overpaid' })
  expect(await receive(wallet, bought)).toMatchObject({ status: 'overpaid', event: 'invoice.overpaid' })
})

test('a coin that is switched to while the buyer leaves for a card gets no rounding of the other coin', async () => {
  const made = await makeInvoice({ allow_asset_selection: true })
  await post(`${made.path}?form=switch`, { asset: 'LTC' })
  await post(`${made.path}/card`, { place: 'DE' })
  const purchase = purchaseIn(await get(`${made.path}/card`), 'moonpay')
  const holder = await api.database.owner.connect()
  const waiting = async () => {
    const { rows } = await api.database.owner.query<{ count: number }>(
      `select count(*)::int as count from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows[0]?.count ?? 0
  }
  try {
    await holder.query('begin')
    await holder.query('select from card_purchase where id = $1 for update', [purchase])
    const leaving = post(`${made.path}/card/leave`, { purchase })
    await until(async () => (await waiting()) === 1, { what: 'the buyer leaves' })
    expect((await post(`${made.path}?form=switch`, { asset: 'USDC_BASE' })).status).toBe(303)
    await holder.query('commit')
    expect((await leaving).status).toBe(200)
  } finally {
    holder.release()
  }
  const { rows } = await api.database.owner.query(
    'select asset, tolerance_over::text from invoice where id = $1',
    [made.id],
  )
  expect(rows).toEqual([{ asset: 'USDC_BASE', tolerance_over: '0' }])
})

test('no transaction is open while a provider is asked; a process that dies then loses only the request', async () => {
  const made = await makeInvoice()
  coinbase.trouble.set('/platform/v2/onramp/sessions', 'hang')
  const pressed = post(`${made.path}/card`, { place: 'US-CA' })
  await until(() => sessions() === 1, { what: 'the provider is asked' })
  const { rows } = await api.database.owner.query<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and state like 'idle in transaction%'`,
  )
  expect(rows).toEqual([{ count: 0 }])
  // Another press in the meantime asks nobody, and its page looks again by itself.
  expect((await post(`${made.path}/card`, { place: 'US-CA' })).status).toBe(303)
  const asking = await get(`${made.path}/card`)
  expect(asking).toContain('Being asked…')
  expect(asking).toContain('http-equiv="refresh" content="2"')
  expect(sessions()).toBe(1)
  coinbase.release()
  await pressed
  expect(await get(`${made.path}/card`)).toContain('Does not answer just now.')
  coinbase.trouble.clear()
  api.time.advance(20_000)
  await post(`${made.path}/card`, { place: 'US-CA' })
  expect(await get(`${made.path}/card`)).toContain('id="leave-coinbase"')
})

test('what a provider refuses is said on its card, and the others can still be taken', async () => {
  const made = await makeInvoice()
  await post(`${made.path}/card`, { place: 'GB' })
  const html = await get(`${made.path}/card`)
  expect(html).toContain('Does not sell where you live.')
  expect(html).toContain('id="leave-coinbase"')
  const small = await makeInvoice({ usd_amount: '3.00' })
  await post(`${small.path}/card`, { place: 'US-CA' })
  const refused = await get(`${small.path}/card`)
  expect(refused).toContain('<p>This payment is too small.</p><p>Smallest purchase: $5.00</p>')
  expect(refused).toContain('<p>This payment is too small.</p><p>Smallest purchase: $20.00</p>')
  expect(refused).toContain('id="card-none"')
})

test('the session’s URL is kept sealed, and neither it nor a key is in the database or the log', async () => {
  const made = await makeInvoice()
  await leaveFor(made, 'coinbase')
  const { rows } = await api.database.owner.query<{ dump: string }>(
    `select string_agg(card_purchase::text || encode(coalesce(url, ''), 'escape'), ' ') as dump from card_purchase`,
  )
  const dump = `${rows[0]?.dump} ${api.logged.join(' ')}`
  for (const secret of ['sessionToken', MOONPAY_KEYS.secretKey, MOONPAY_KEYS.apiKey, 'signature='])
    expect(dump).not.toContain(secret)
})

test('the processes that serve buyers may write what became of a question, and nothing of what was asked', async () => {
  const { rows } = await api.database.owner.query<{ name: string; may: boolean }>(
    `select column_name as name, has_column_privilege('paylink_api', 'card_purchase', column_name, 'update') as may
     from information_schema.columns where table_schema = 'public' and table_name = 'card_purchase'`,
  )
  const writable = rows.filter(({ may }) => may).map(({ name }) => name)
  expect(writable.sort()).toEqual(
    ['answer', 'fresh_until', 'left_at', 'news', 'news_at', 'news_of', 'status', 'url'].sort(),
  )
  for (const change of [
    `address = ''`,
    'amount = 1',
    `asset = 'BTC'`,
    `invoice_id = ''`,
    'livemode = true',
  ]) {
    await expect(api.database.pools.api.query(`update card_purchase set ${change}`)).rejects.toThrow(
      /permission denied/,
    )
  }
})

test('what is loaded again where leaving failed is the invoice’s page', async () => {
  const made = await makeInvoice()
  for (const path of ['card/leave', 'card/test']) {
    const answer = await fetch(`${site.url}${made.path}/${path}?lang=de`, { redirect: 'manual' })
    const location = answer.headers.get('location')
    expect([path, answer.status, location]).toEqual([
      path,
      303,
      `../../${made.path.slice('/i/'.length)}?lang=de`,
    ])
  }
})

test('forms that are none of ours ask nobody', async () => {
  const made = await makeInvoice()
  const card = `${made.path}/card`
  const statuses = [
    await post(card, { place: 'Atlantis' }),
    await post(card, {}),
    await post(card, { place: 'DE', extra: '1' }),
    await post(card, { place: 'DE' }, { 'sec-fetch-site': 'cross-site' }),
    await post(`${card}/leave`, { purchase: 'card_x' }),
    await post(`${card}/leave`, { purchase: "card_01jd8x5v7k000000000000000'" }),
    await post(`${card}/test`, { purchase: `card_${'0'.repeat(26)}`, number: '4242424242424242' }),
    await fetch(`${site.url}${card}/test?purchase=card_${'0'.repeat(26)}`),
    await post('/i/none/card', { place: 'DE' }),
  ].map(({ status }) => status)
  expect(statuses).toEqual([400, 400, 400, 400, 400, 400, 400, 404, 404])
  expect(asksForOffers()).toBe(0)
})

test('without keys there is no way to pay by card, in live and in test mode', async () => {
  const bare = await startBuyersSite(api)
  try {
    const { slug } = (
      await api.call('POST', '/payment-links', {
        key: merchant.liveKey,
        body: { name: 'Beans', usd_amount: '25.00' },
      })
    ).body
    for (const path of [
      (await makeInvoice()).path,
      (await makeInvoice({ asset: 'LTC' }, merchant.testKey)).path,
      `/l/${slug}`,
    ])
      expect(await get(path, bare)).not.toContain('by-card')
    expect(await get(`/l/${slug}`)).toContain('by-card')
    // Live keys sell nothing in test mode.
    expect(await get((await makeInvoice({ asset: 'LTC' }, merchant.testKey)).path)).not.toContain('by-card')
    const made = await makeInvoice()
    const answer = await fetch(`${bare.url}${made.path}/card`, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([303, `../${made.path.slice(3)}`])
    const webhook = await fetch(`${bare.url}/onramp/coinbase/webhook`, { method: 'POST' })
    expect(webhook.status).toBe(404)
  } finally {
    await bare.stop()
  }
})

test('a payment link’s card button buys USDC unless the buyer chose another coin than the page began with', async () => {
  const link = await api.call('POST', '/payment-links', {
    key: merchant.liveKey,
    body: { name: 'Beans', usd_amount: '25.00', asset: 'LTC' },
  })
  const buy = async (asset: string, visit: string) => {
    const answer = await post(`/l/${link.body.slug}`, { visit, shown: 'LTC', asset, by: 'card' })
    const location = new URL(answer.headers.get('location') ?? '', `${site.url}/l/x`).pathname
    expect(location).toMatch(/^\/i\/[^/]+\/card$/)
    await post(location, { place: 'DE' })
    return /Sends ([0-9.]+ [A-Z]+)/.exec(await get(location))?.[1]
  }
  expect(await buy('LTC', 'a'.repeat(22))).toBe('25.00 USDC')
  expect(await buy('LTC', 'a'.repeat(22))).toBe('25.00 USDC')
  const { rows } = await api.database.owner.query<{ asset_picked: boolean }>(
    `select asset_picked from invoice where payment_link_id = $1`,
    [link.body.id],
  )
  expect(rows).toEqual([{ asset_picked: false }])
  api.unpriced.add('USDC_BASE')
  expect(await buy('LTC', 'b'.repeat(22))).toMatch(/ LTC$/)
  api.unpriced.clear()
})

describe('a purchase at Coinbase, which the page waits for', () => {
  const pathOf = (purchase: string) => `/onramp/v1/buy/user/${purchase}/transactions`
  const asks = (purchase: string) => coinbase.requests.filter(({ path }) => path === pathOf(purchase)).length
  const tell = (made: Made, purchase: string, ...tries: readonly [id: string, status: string][]) =>
    coinbase.transactions.set(
      purchase,
      tries.map(([transaction_id, status]) => ({
        transaction_id,
        status: `ONRAMP_TRANSACTION_STATUS_${status}`,
        purchase_currency: 'USDC',
        purchase_network: 'base',
        wallet_address: made.address.toUpperCase().replace('0X', '0x'),
        tx_hash: '0xabc',
      })),
    )
  const newsAt = async (purchase: string) =>
    (await api.database.owner.query('select news_at from card_purchase where id = $1', [purchase])).rows
  /** Lets the next question come due, and waits until it was answered. */
  async function askedAgain(purchase: string, ms = 120_000): Promise<void> {
    const before = asks(purchase)
    api.time.advance(ms)
    await expect.poll(() => asks(purchase)).toBe(before + 1)
  }

  test('is asked about, and changes what the page says until it has ended', async () => {
    const made = await makeInvoice()
    const purchase = await leaveFor(made, 'coinbase')
    expect(await get(made.path)).toContain('once your card has been charged')
    expect(await get(made.path)).toContain('id="card-again"')
    tell(made, purchase, ['t1', 'IN_PROGRESS'])
    await askedAgain(purchase, 15_000)
    await expect.poll(() => get(made.path)).toContain('is about to send USDC')
    expect(await get(made.path)).not.toContain('id="card-again"')
    expect(await get(made.path)).not.toContain('close this page')
    tell(made, purchase, ['t1', 'FAILED'])
    await askedAgain(purchase)
    await expect.poll(() => get(made.path)).toContain('did not go through')
    // Told of two tries, the page speaks of the newest, and nothing changes for the one before it.
    tell(made, purchase, ['t2', 'IN_PROGRESS'], ['t1', 'FAILED'])
    await askedAgain(purchase)
    await expect.poll(() => get(made.path)).toContain('is about to send USDC')
    const toldAt = await newsAt(purchase)
    await askedAgain(purchase)
    await askedAgain(purchase)
    expect(await newsAt(purchase)).toEqual(toldAt)
    tell(made, purchase, ['t2', 'SUCCESS'], ['t1', 'FAILED'])
    await askedAgain(purchase)
    await expect.poll(() => get(made.path)).toContain('says that it has sent your payment')
    const { body } = await api.call('GET', `/invoices/${made.id}`, { key: merchant.liveKey })
    expect(body).toMatchObject({ status: 'awaiting_payment', payments: [], amount_detected: '0' })
    expect(coinbase.requests.findLast(({ path }) => path === pathOf(purchase))?.search).toBe('?page_size=10')
  })

  test('with two tries is under way while one of them is, and has failed once both have', async () => {
    const made = await makeInvoice()
    const purchase = await leaveFor(made, 'coinbase')
    await get(made.path)
    tell(made, purchase, ['t1', 'IN_PROGRESS'])
    await askedAgain(purchase, 15_000)
    await expect.poll(() => get(made.path)).toContain('is about to send USDC')
    tell(made, purchase, ['t2', 'FAILED'], ['t1', 'IN_PROGRESS'])
    await askedAgain(purchase)
    await askedAgain(purchase)
    expect(await get(made.path)).toContain('is about to send USDC')
    tell(made, purchase, ['t2', 'FAILED'], ['t1', 'FAILED'])
    await askedAgain(purchase)
    await expect.poll(() => get(made.path)).toContain('did not go through')
  })

  test('that was never begun there is called so after ten minutes, and no more once it is', async () => {
    const made = await makeInvoice()
    const purchase = await leaveFor(made, 'coinbase')
    await get(made.path)
    await askedAgain(purchase, 15_000)
    expect(await get(made.path)).toContain('Waiting for Coinbase')
    await askedAgain(purchase, 10 * 60_000)
    await expect.poll(() => get(made.path)).toContain('knows of no payment of yours yet')
    expect(await get(made.path)).toContain('id="by-card"')
    tell(made, purchase, ['t1', 'IN_PROGRESS'])
    await askedAgain(purchase)
    await expect.poll(() => get(made.path)).toContain('is about to send USDC')
    // What was reported once is not unsaid by a list that is empty again.
    tell(made, purchase)
    await askedAgain(purchase)
    await askedAgain(purchase)
    expect(await get(made.path)).toContain('is about to send USDC')
  })

  test('keeps the status where it answers with an error or another address, and is asked for an hour at most', async () => {
    const made = await makeInvoice()
    const purchase = await leaveFor(made, 'coinbase')
    await get(made.path)
    api.logged.length = 0
    coinbase.trouble.set(pathOf(purchase), { status: 500, body: { errorType: 'internal_server_error' } })
    await askedAgain(purchase)
    await expect.poll(() => api.logged.join('')).toContain('did not say how a purchase stands')
    expect(await get(made.path)).toContain('once your card has been charged')
    coinbase.trouble.clear()
    // A purchase to an address that is not the invoice's is nobody's news.
    tell({ ...made, address: `0x${'1'.repeat(40)}` }, purchase, ['t1', 'SUCCESS'])
    await askedAgain(purchase)
    await expect.poll(() => api.logged.join('')).toContain('to an address that is not its own')
    expect(await get(made.path)).toContain('once your card has been charged')
    const before = asks(purchase)
    api.time.advance(60 * 60_000)
    const other = await makeInvoice()
    const later = await leaveFor(other, 'coinbase')
    await get(other.path)
    // Whoever asks about this one looks at the other too.
    await askedAgain(later, 15_000)
    expect(asks(purchase)).toBe(before)
  })
})

describe('a provider’s webhook', () => {
  const send = (provider: string, { body, headers }: { body: string; headers: { [name: string]: string } }) =>
    fetch(`${site.url}/onramp/${provider}/webhook`, { method: 'POST', body, headers })
  const nowMs = () => api.time.now.getTime()
  const coinbaseEvent = (made: Made, purchase: string, status: string, change: object = {}) => ({
    eventType: 'onramp.transaction.updated',
    transactionId: 't1',
    status: `ONRAMP_TRANSACTION_STATUS_${status}`,
    purchaseCurrency: 'USDC',
    purchaseNetwork: 'base',
    walletAddress: made.address.toUpperCase().replace('0X', '0x'),
    partnerUserRef: purchase,
    txHash: '0xabc',
    ...change,
  })
  const moonpayEvent = (made: Made, purchase: string, status: string, id = 'm1') => ({
    type: 'transaction_updated',
    data: { id, status, walletAddress: made.address, externalTransactionId: purchase, currency: {} },
  })

  /** All that money is written in. */
  async function books(): Promise<unknown> {
    const tables = ['invoice', 'transfer', 'ledger_transfer', 'ledger_entry', 'event', 'delivery']
    const hashes = tables.map(
      (name) =>
        `(select md5(coalesce(string_agg(t::text, ',' order by t::text), '')) from ${name} t) as ${name}`,
    )
    return (await api.database.owner.query(`select ${hashes.join(', ')}`)).rows
  }

  test('changes what the page says, also when sent twice and out of order, and credits nothing', async () => {
    const made = await makeInvoice()
    const purchase = await leaveFor(made, 'coinbase')
    const before = await books()
    const told = async (status: string, change: object = {}) => {
      const event = coinbaseEvent(made, purchase, status, change)
      expect(
        (await send('coinbase', coinbaseWebhook(COINBASE_SECRET, event, { atMs: nowMs() }))).status,
      ).toBe(200)
      return get(made.path)
    }
    expect(await told('CREATED')).toContain('once your card has been charged')
    expect(await told('IN_PROGRESS')).toContain('is about to send USDC')
    expect(await told('FAILED')).toContain('did not go through')
    expect(await told('IN_PROGRESS')).toContain('did not go through')
    // The buyer tries again there: another transaction.
    expect(await told('IN_PROGRESS', { transactionId: 't2' })).toContain('is about to send USDC')
    expect(await told('SUCCESS', { transactionId: 't2' })).toContain('says that it has sent your payment')
    expect(await told('FAILED', { transactionId: 't2' })).toContain('says that it has sent your payment')
    expect(await told('FAILED', { transactionId: 't1' })).toContain('says that it has sent your payment')
    expect(await books()).toEqual(before)
    const { body } = await api.call('GET', `/invoices/${made.id}`, { key: merchant.liveKey })
    expect(body).toMatchObject({ status: 'awaiting_payment', payments: [], amount_detected: '0' })
  })

  test('that the provider has the money lets no second purchase begin, and another way to pay warns', async () => {
    const made = await makeInvoice({ allow_asset_selection: true })
    const first = await leaveFor(made, 'coinbase')
    // The buyer starts again elsewhere, before the first provider has said anything.
    api.time.advance(60_000)
    const second = await leaveFor(made, 'moonpay')
    const purchases = [purchaseIn(await get(`${made.path}/card`), 'coinbase'), second]
    expect(purchases).not.toContain('')
    const told = async (status: string) => {
      const event = coinbaseEvent(made, first, status)
      const webhook = coinbaseWebhook(COINBASE_SECRET, event, { atMs: nowMs() })
      expect((await send('coinbase', webhook)).status).toBe(200)
    }
    const refuses = async () => {
      const before = asksForOffers()
      const answers = [
        await fetch(`${site.url}${made.path}/card`, { redirect: 'manual' }),
        await post(`${made.path}/card`, { place: 'US-NY' }),
        ...(await Promise.all(purchases.map((purchase) => post(`${made.path}/card/leave`, { purchase })))),
      ]
      const token = made.path.slice('/i/'.length)
      expect(answers.map(({ status, headers }) => [status, headers.get('location')])).toEqual(
        ['../', '../', '../../', '../../'].map((up) => [303, up + token]),
      )
      expect(asksForOffers()).toBe(before)
      const html = await get(`${made.path}?pay=card`)
      expect(html).not.toContain('id="method-card"')
      expect(html).not.toContain('id="by-card"')
      expect(html).toContain(
        'Your card payment is with Coinbase. If you pay another way too, you may pay twice.',
      )
    }
    await told('IN_PROGRESS')
    expect(await get(made.path)).toContain('Coinbase has your card payment')
    await refuses()
    await told('SUCCESS')
    await refuses()
  })

  test('that the provider has the money outlasts the deadline: nothing is opened anew, and the page says so', async () => {
    const link = await api.call('POST', '/payment-links', {
      key: merchant.liveKey,
      body: { name: 'Beans', usd_amount: '49.99', asset: 'USDC_BASE' },
    })
    const continued = await post(`/l/${link.body.slug}`, { visit: 'a'.repeat(22), asset: 'USDC_BASE' })
    const path = continued.headers.get('location')?.replace('..', '') ?? ''
    const listed = await api.call('GET', '/invoices?limit=1', { key: merchant.liveKey })
    const { id, address, expires_at } = listed.body.data[0]
    const made = { id, address, path }
    api.time.advance(Date.parse(expires_at) - nowMs() - 60_000)
    const purchase = await leaveFor(made, 'moonpay')
    const told = async (status: string) => {
      const webhook = moonpayWebhook(MOONPAY_KEY, moonpayEvent(made, purchase, status), nowMs())
      expect((await send('moonpay', webhook)).status).toBe(200)
    }
    await told('pending')
    api.time.advance(120_000)
    expect(await get(path)).toContain('MoonPay has your card payment')
    await expireInvoices(
      { pool: api.database.pools.watcher, clock: api.deps.clock },
      { network: 'base-live', readAtMs: nowMs(), tipHeight: 100, tipHash: 'hash', providers: [] },
    )
    const reopens = async () => (await post(`${path}?form=reopen`, {})).headers.get('location')
    for (const query of ['', '?pay=wallet', '?watch=1']) {
      const html = await get(path + query)
      expect(html).toContain('MoonPay has your card payment')
      expect(html).toContain('What comes later is not lost')
      expect(html).not.toContain('id="reopen"')
      expect(html).not.toContain('id="pay-other"')
    }
    expect(await reopens()).toBe(`.${path.slice('/i'.length)}`)
    await told('failed')
    expect(await get(path)).toContain('id="reopen"')
    expect(await reopens()).not.toBe(`.${path.slice('/i'.length)}`)
  })

  test('that the provider has the money keeps the coin that it sends', async () => {
    const made = await makeInvoice({ allow_asset_selection: true })
    const purchase = await leaveFor(made, 'coinbase')
    const event = coinbaseEvent(made, purchase, 'IN_PROGRESS')
    await send('coinbase', coinbaseWebhook(COINBASE_SECRET, event, { atMs: nowMs() }))
    expect(await get(`${made.path}?pay=wallet`)).not.toContain('id="switch"')
    expect((await post(`${made.path}?form=switch`, { asset: 'LTC' })).status).toBe(409)
    const { body } = await api.call('GET', `/invoices/${made.id}`, { key: merchant.liveKey })
    expect(body).toMatchObject({ asset: 'USDC_BASE', status: 'awaiting_payment' })
  })

  test('that an earlier try failed does not end a later one that is under way', async () => {
    const made = await makeInvoice()
    const purchase = await leaveFor(made, 'moonpay')
    const told = async (status: string, id: string) => {
      const webhook = moonpayWebhook(MOONPAY_KEY, moonpayEvent(made, purchase, status, id), nowMs())
      expect((await send('moonpay', webhook)).status).toBe(200)
      return get(made.path)
    }
    await told('pending', 'm1')
    await told('pending', 'm2')
    expect(await told('failed', 'm1')).toContain('MoonPay has your card payment')
    expect(await told('failed', 'm2')).toContain('did not go through')
  })

  test('that it failed lets the buyer begin again', async () => {
    const made = await makeInvoice()
    const purchase = await leaveFor(made, 'coinbase')
    for (const status of ['IN_PROGRESS', 'FAILED']) {
      const event = coinbaseEvent(made, purchase, status)
      await send('coinbase', coinbaseWebhook(COINBASE_SECRET, event, { atMs: nowMs() }))
    }
    expect(await get(`${made.path}?pay=card`)).toContain('id="by-card"')
    await leaveFor(made, 'moonpay')
  })

  test('of MoonPay’s does the same', async () => {
    const made = await makeInvoice()
    const purchase = await leaveFor(made, 'moonpay')
    const before = await books()
    const told = async (status: string) => {
      const event = moonpayEvent(made, purchase, status)
      expect((await send('moonpay', moonpayWebhook(MOONPAY_KEY, event, nowMs()))).status).toBe(200)
      return get(made.path)
    }
    expect(await told('waitingPayment')).toContain('once your card has been charged')
    expect(await told('pending')).toContain('MoonPay has your card payment')
    expect(await told('completed')).toContain('MoonPay says that it has sent your payment')
    expect(await told('pending')).toContain('MoonPay says that it has sent your payment')
    expect(await books()).toEqual(before)
  })

  test('is refused where its signature is missing, wrong, of another body, header or key, or 5 minutes off', async () => {
    const made = await makeInvoice()
    const purchase = await leaveFor(made, 'coinbase')
    const event = coinbaseEvent(made, purchase, 'FAILED')
    const good = coinbaseWebhook(COINBASE_SECRET, event, { atMs: nowMs() })
    const signature = good.headers['x-hook0-signature'] ?? ''
    const withSignature = (text: string) => ({
      ...good,
      headers: { ...good.headers, 'x-hook0-signature': text },
    })
    const moonpayGood = moonpayWebhook(MOONPAY_KEY, moonpayEvent(made, purchase, 'failed'), nowMs())
    const moonpaySignature = moonpayGood.headers['moonpay-signature-v2'] ?? ''
    const withMoonpay = (text: string) => ({
      ...moonpayGood,
      headers: { ...moonpayGood.headers, 'moonpay-signature-v2': text },
    })
    const bad: [string, { body: string; headers: { [name: string]: string } }][] = [
      ['coinbase', withSignature('')],
      ['coinbase', withSignature('x'.repeat(3_000))],
      ['coinbase', withSignature(signature.replace(/v1=../, 'v1=zz'))],
      // A right v0 does not help a wrong v1.
      ['coinbase', withSignature(signature.replace(/v1=[0-9a-f]{64}/, `v1=${'0'.repeat(64)}`))],
      ['coinbase', withSignature(`${signature},v1=${'0'.repeat(64)}`)],
      ['coinbase', withSignature(signature.replace(/^t=[0-9]+/, `t=${Math.floor(nowMs() / 1_000) + 1}`))],
      ['coinbase', withSignature(signature.replace('h=x-event-id', 'h=x-event-id x-other'))],
      ['coinbase', { ...good, headers: { ...good.headers, 'x-event-id': 'evt2' } }],
      ['coinbase', { ...good, body: good.body.replace('FAILED', 'SUCCESS') }],
      ['coinbase', coinbaseWebhook('another-secret', event, { atMs: nowMs() })],
      ['coinbase', coinbaseWebhook(COINBASE_SECRET, event, { atMs: nowMs() - 301_000 })],
      ['coinbase', coinbaseWebhook(COINBASE_SECRET, event, { atMs: nowMs() + 302_000 })],
      ['moonpay', withMoonpay('')],
      ['moonpay', withMoonpay(moonpaySignature.toUpperCase())],
      ['moonpay', withMoonpay(`${moonpaySignature},s=${'0'.repeat(64)}`)],
      ['moonpay', { ...moonpayGood, body: moonpayGood.body.replace('failed', 'completed') }],
      ['moonpay', moonpayWebhook(COINBASE_SECRET, moonpayEvent(made, purchase, 'failed'), nowMs())],
      ['moonpay', moonpayWebhook(MOONPAY_KEY, moonpayEvent(made, purchase, 'failed'), nowMs() - 301_000)],
      ['moonpay', good],
    ]
    for (const [index, [provider, request]] of bad.entries())
      expect([index, (await send(provider, request)).status]).toEqual([index, 400])
    expect(await get(made.path)).toContain('once your card has been charged')
    expect(
      (await send('coinbase', coinbaseWebhook(COINBASE_SECRET, event, { atMs: nowMs(), only: 'v0' }))).status,
    ).toBe(200)
    expect(await get(made.path)).toContain('did not go through')
  })

  test('of somebody else’s purchase, another provider’s, or another address changes nothing', async () => {
    const made = await makeInvoice()
    const purchase = await leaveFor(made, 'coinbase')
    const strange = [
      coinbaseEvent(made, `card_${'0'.repeat(26)}`, 'FAILED'),
      coinbaseEvent(made, "' or 1=1 --", 'FAILED'),
      coinbaseEvent(made, purchase, 'FAILED', { walletAddress: `0x${'1'.repeat(40)}` }),
      coinbaseEvent(made, purchase, 'INVENTED'),
      { eventType: 'onramp.transaction.updated' },
      [],
    ]
    for (const event of strange)
      expect(
        (await send('coinbase', coinbaseWebhook(COINBASE_SECRET, event, { atMs: nowMs() }))).status,
      ).toBe(200)
    const crossed = moonpayWebhook(MOONPAY_KEY, moonpayEvent(made, purchase, 'failed'), nowMs())
    expect((await send('moonpay', crossed)).status).toBe(200)
    expect(await get(made.path)).toContain('once your card has been charged')
  })

  test('with another method, type or size, or for nobody, gets its status', async () => {
    const url = `${site.url}/onramp/coinbase/webhook`
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(url)).status).toBe(405)
    expect((await fetch(url, { method: 'POST', body: 'a=b' })).status).toBe(415)
    expect((await fetch(url, { method: 'POST', headers, body: 'x'.repeat(70_000) })).status).toBe(413)
    expect(
      (await fetch(`${site.url}/onramp/nobody/webhook`, { method: 'POST', headers, body: '{}' })).status,
    ).toBe(404)
  })
})
