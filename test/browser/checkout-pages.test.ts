// @module-tag chromium
import type { Browser, BrowserContext, Page } from 'playwright-core'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CardPurchase } from '../../src/core/card/card-purchase.ts'
import type { CheckoutFacts, PaymentPage } from '../../src/core/checkout/checkout-pages.ts'
import type { CoinOffer } from '../../src/core/checkout/coin-offers.ts'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { NO_BRANDING } from '../../src/web/checkout/branding.ts'
import { launchBrowser, photograph } from '../support/browser.ts'
import { CARD_MINIMUM, CARD_OFFER, CARD_OFFERS } from '../support/card-offers.ts'
import {
  EXPIRES_AT_MS,
  INVOICES_BY_PAGE,
  litecoinInvoice,
  litecoinPayment,
  NOW_MS,
} from '../support/checkout-invoice.ts'
import { type CheckoutServer, startCheckoutServer } from '../support/checkout-server.ts'
import {
  axeFaults,
  complaintsOf,
  lowContrast,
  overflow,
  smallTargets,
  unnamed,
} from '../support/page-checks.ts'

const ADDRESS_EVM = '0x52908400098527886E0F7030069857D2E4169EE7'
const ADDRESS_SOLANA = '7S3P4HxJpyyigGzodYwHtCxZyUQe9JiBMHyRWXArAaKv'
const AT_PAR = { usdPerUnit: '1', quotedAt: '2026-11-21T13:05:00.000Z', sources: [] }

/** Paid in two issuers' tokens, on networks of two kinds of addresses. */
const paidInDollars: Invoice = {
  ...INVOICES_BY_PAGE.paid,
  asset: 'USDC_BASE',
  alsoAccepts: ['USDT_ARBITRUM', 'USDC_SOLANA'],
  tokenRates: { USDC: AT_PAR, USDT: AT_PAR },
  rate: AT_PAR,
  amount: 49_990_000n,
  address: ADDRESS_EVM,
  addressesBeside: { solana: ADDRESS_SOLANA },
  payments: [
    litecoinPayment({
      asset: 'USDT_ARBITRUM',
      network: 'arbitrum-test',
      amount: 20_000_000n,
      status: 'confirmed',
    }),
    litecoinPayment({
      id: 'pay_2',
      asset: 'USDC_SOLANA',
      network: 'solana-test',
      amount: 29_990_000n,
      status: 'confirmed',
    }),
  ],
}

/** Every page by name, at the time at which it is what its name says. */
const PAGES: { [name: string]: { invoice: Invoice; nowMs: number; merchantName?: string } } = {
  ...Object.fromEntries(
    Object.entries(INVOICES_BY_PAGE).map(([name, invoice]) => [name, { invoice, nowMs: NOW_MS }]),
  ),
  checking: { invoice: INVOICES_BY_PAGE.awaiting, nowMs: EXPIRES_AT_MS + 1 },
  underpaid_over: { invoice: INVOICES_BY_PAGE.underpaid, nowMs: EXPIRES_AT_MS + 1 },
  awaiting_live: { invoice: litecoinInvoice({ livemode: true }), nowMs: NOW_MS },
  awaiting_long: {
    invoice: litecoinInvoice({
      asset: 'USDC_BASE',
      alsoAccepts: ['USDC_ETHEREUM', 'USDC_ARBITRUM', 'USDC_POLYGON'],
      amount: 99_999_999_999n,
      usdCents: 9_999_999n,
      address: ADDRESS_EVM,
      expiresAtMs: NOW_MS + 24 * 60 * 60_000,
    }),
    nowMs: NOW_MS,
    merchantName: 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft & Söhne',
  },
  awaiting_dollars: {
    invoice: litecoinInvoice({
      asset: 'USDC_BASE',
      alsoAccepts: [
        'USDC_ETHEREUM',
        'USDC_ARBITRUM',
        'USDC_POLYGON',
        'USDC_SOLANA',
        'USDT_ETHEREUM',
        'USDT_ARBITRUM',
        'PYUSD_SOLANA',
      ],
      tokenRates: { USDC: AT_PAR, USDT: AT_PAR, PYUSD: AT_PAR },
      rate: AT_PAR,
      amount: 49_990_000n,
      address: ADDRESS_EVM,
      addressesBeside: { solana: ADDRESS_SOLANA },
    }),
    nowMs: NOW_MS,
  },
  awaiting_wei: {
    invoice: litecoinInvoice({
      asset: 'ETH',
      amount: 123_456_789_012_345_678n,
      usdCents: null,
      rate: null,
      address: ADDRESS_EVM,
    }),
    nowMs: NOW_MS,
  },
}

const COINS: CoinOffer[] = [
  { asset: 'BTC', alsoAccepts: [], available: true, reason: null, amount: 51_234n },
  { asset: 'LTC', alsoAccepts: [], available: true, reason: null, amount: 41_230_000n },
  { asset: 'ETH', alsoAccepts: [], available: true, reason: null, amount: 123_456_789_012_345_678n },
  { asset: 'ETH_BASE', alsoAccepts: [], available: false, reason: 'asset_unavailable', amount: null },
  { asset: 'USDC_BASE', alsoAccepts: [], available: false, reason: 'rate_unavailable', amount: null },
  { asset: 'SOL', alsoAccepts: [], available: false, reason: 'amount_too_small', amount: null },
]
const SELLER = {
  legalName: 'Blue Heron Books Limited',
  postalAddress: '1 Marsh Lane\nHickling\nNorwich NR12 0BW',
  taxNumber: 'GB 123 4567 89',
}
const OPEN: Extract<PaymentPage, { kind: 'open' }> = {
  kind: 'open',
  tenant: { merchantId: 'mer_01jd8x5v7k0000000000000000', livemode: false },
  merchantName: 'Blue Heron Books',
  linkName: 'The complete guide to wading birds, second edition',
  order: null,
  usdCents: 4_999n,
  price: null,
  takesAmount: false,
  buyerAmount: null,
  expiresAtMs: null,
  durationMinutes: 60,
  defaultAsset: 'LTC',
  coins: COINS,
}
const ASK_AMOUNT = {
  kind: 'ask_amount',
  tenant: OPEN.tenant,
  merchantName: OPEN.merchantName,
  linkName: OPEN.linkName,
  buyerAmount: null,
} as const
const BUYER_AMOUNT = {
  currency: 'EUR',
  minimum: '2.00',
  maximum: '500.00',
  suggested: ['5.00', '10.00', '25.00', '50.00'],
} as const
const { awaiting, detected, expired, paid, overpaid } = INVOICES_BY_PAGE
const READING = {
  network: 'litecoin-test',
  tipHeight: 2_812_345,
  tipHash: 'c'.repeat(64),
  readAtMs: EXPIRES_AT_MS + 2_000,
  providers: ['node.example', 'esplora.example'],
} as const
const LOGO = { path: `/logo/mer_x/${'a'.repeat(32)}.webp`, width: 200, height: 72 }

const CARD = { asset: 'LTC', waiting: null } as const
const BUYER_AWAY = {
  purchaseId: 'card_01jd8x5v7k0000000000000003',
  leftAtMs: NOW_MS,
  provider: 'coinbase',
  asset: 'LTC',
  update: null,
} as const
/** The offers of each page, by the invoice that its name makes. */
const OFFERS: { [invoiceId: string]: readonly CardPurchase[] } = {
  inv_card_offers: CARD_OFFERS,
  inv_card_refused: [
    { ...CARD_OFFER, answer: { kind: 'refused', reason: 'below_minimum', minimum: CARD_MINIMUM } },
    { ...CARD_OFFER, provider: 'moonpay', answer: { kind: 'refused', reason: 'region', minimum: null } },
    { ...CARD_OFFER, provider: 'sandbox', answer: { kind: 'failed' } },
  ],
  inv_card_asking: [{ ...CARD_OFFER, answer: null }],
}
const showCard = (name: string, waiting: CheckoutFacts['card']['waiting'] = null): string =>
  server.show(name, { ...awaiting, id: `inv_${name}` }, 'Blue Heron Books', { card: { ...CARD, waiting } })

/** Pages that are more than an invoice: what puts them there, and the path on which they are. */
const MORE_PAGES: { [name: string]: (name: string) => string } = {
  open: () => `${server.showLink('pl_open', OPEN)}`,
  open_session: () =>
    server.showLink('pl_session', {
      ...OPEN,
      tenant: { ...OPEN.tenant, livemode: true },
      order: 'order-1042',
      expiresAtMs: NOW_MS + 30 * 60_000,
    }),
  open_none: () =>
    server.showLink('pl_none', {
      ...OPEN,
      coins: COINS.map((coin) => ({ ...coin, available: false, amount: null, reason: 'rate_unavailable' })),
    }),
  open_amount: () => server.showLink('pl_amount', { ...OPEN, takesAmount: true }),
  ask_amount: () => server.showLink('pl_ask', { ...ASK_AMOUNT, reason: 'missing' }),
  ask_suggested: () =>
    server.showLink('pl_tips', { ...ASK_AMOUNT, buyerAmount: BUYER_AMOUNT, reason: 'missing' }),
  open_suggested: () =>
    server.showLink('pl_tip', {
      ...OPEN,
      takesAmount: true,
      price: { amount: '10.00', currency: 'EUR' },
      buyerAmount: BUYER_AMOUNT,
    }),
  ask_amount_again: () => `${server.showLink('pl_again', { ...ASK_AMOUNT, reason: 'too_large' })}?usd=200000`,
  bad_amount: () => server.showLink('pl_bad', { kind: 'bad_amount', tenant: OPEN.tenant, reason: 'missing' }),
  nothing: () => `${server.url}/l/pl_nothing`,
  switchable: () =>
    server.show('switchable', { ...awaiting, id: 'inv_switchable' }, 'Blue Heron Books', {
      otherCoins: COINS.filter(({ asset }) => asset !== 'LTC'),
    }),
  expired_reopenable: () =>
    server.show(
      'reopenable',
      { ...expired, id: 'inv_reopenable', expiryReading: READING },
      'Blue Heron Books',
      { reopenable: true },
    ),
  watching: () =>
    `${server.show('watching', { ...expired, id: 'inv_watching', expiryReading: READING })}?watch=1`,
  by_card: () => `${showCard('by_card')}?pay=card`,
  by_exchange: () => `${showCard('by_exchange')}?pay=exchange`,
  card: (name) => `${showCard(name)}/card`,
  card_offers: (name) => `${showCard(name)}/card`,
  card_refused: (name) => `${showCard(name)}/card`,
  card_waiting: (name) => showCard(name, BUYER_AWAY),
  card_declined: (name) => showCard(name, { ...BUYER_AWAY, update: 'failed' }),
  // As the two before, with other words.
  ...(process.env.LONG === '1'
    ? {
        card_sent: (name: string) =>
          showCard(name, { ...BUYER_AWAY, provider: 'moonpay', update: 'completed' }),
        card_abandoned: (name: string) => showCard(name, { ...BUYER_AWAY, update: 'abandoned' }),
        card_other: (name: string) => `${showCard(name, BUYER_AWAY)}?pay=wallet`,
      }
    : {}),
  card_late: (name) =>
    server.show(name, { ...expired, id: `inv_${name}`, orderReference: 'order-1042' }, undefined, {
      card: { asset: null, waiting: { ...BUYER_AWAY, update: 'pending' } },
    }),
  card_test: (name) => `${showCard(name)}/card/test?purchase=${CARD_OFFER.id}`,
  receipt_offered: () =>
    server.show('receipt_offered', { ...awaiting, id: 'inv_offered' }, undefined, { receipt: 'offered' }),
  receipt_requested: () =>
    server.show('receipt_requested', { ...detected, id: 'inv_requested' }, undefined, {
      receipt: 'requested',
    }),
  of_link: () =>
    server.show(
      'of_link',
      { ...awaiting, id: 'inv_of_link', orderReference: 'order-1042' },
      'Blue Heron Books',
      {
        linkName: OPEN.linkName,
        card: CARD,
        otherCoins: COINS.filter(({ asset }) => asset !== 'LTC'),
      },
    ),
  receipt: () => `${server.show('receipt', { ...paid, id: 'inv_receipt' })}/receipt`,
  receipt_dollars: () => `${server.show('receipt3', { ...paidInDollars, id: 'inv_receipt3' })}/receipt`,
  receipt_overpaid: () => `${server.show('receipt2', { ...overpaid, id: 'inv_receipt2' })}/receipt`,
}

const ALL_LAYOUTS = [
  { name: 'light-1440', colorScheme: 'light', width: 1440, javaScriptEnabled: true },
  { name: 'dark-320-no-js', colorScheme: 'dark', width: 320, javaScriptEnabled: false },
  { name: 'light-320-rtl', colorScheme: 'light', width: 320, javaScriptEnabled: true, language: 'ar' },
  { name: 'dark-1440-rtl', colorScheme: 'dark', width: 1440, javaScriptEnabled: true, language: 'ar' },
  { name: 'light-320', colorScheme: 'light', width: 320, javaScriptEnabled: true },
  { name: 'dark-1440', colorScheme: 'dark', width: 1440, javaScriptEnabled: true },
  { name: 'light-320-zh', colorScheme: 'light', width: 320, javaScriptEnabled: true, language: 'zh' },
  { name: 'dark-320-ja', colorScheme: 'dark', width: 320, javaScriptEnabled: true, language: 'ja' },
] as const
/** The first four hold every value of every kind; `npm run test:long` draws all eight. */
const LAYOUTS: readonly Layout[] = process.env.LONG === '1' ? ALL_LAYOUTS : ALL_LAYOUTS.slice(0, 4)
/** What axe would see there alone is contrast, which is looked at by itself in every layout. */
const AXE_LESS = process.env.LONG === '1' ? undefined : 'dark-1440-rtl'
type Layout = {
  name: string
  colorScheme: 'light' | 'dark'
  width: number
  javaScriptEnabled: boolean
  language?: string
}

let server: CheckoutServer
let browser: Browser
beforeAll(async () => {
  server = await startCheckoutServer({
    sandbox: { serves: () => true, payInvoice: async () => {} },
    card: {
      sells: () => true,
      ask: async () => ({ kind: 'offered' }),
      offers: async ({ invoiceId }) => OFFERS[invoiceId] ?? [],
      leave: async () => ({ kind: 'over' }),
      test: { read: async () => CARD_OFFER, play: async () => 'played' },
    },
  })
  browser = await launchBrowser()
  const bytes = await sharp({
    text: { text: '<span foreground="#0a6b8a">Blue Heron</span>', rgba: true, dpi: 180 },
  })
    .webp()
    .toBuffer()
  server.brand({ colour: '#ffb400', logo: LOGO, seller: SELLER }, new Uint8Array(bytes))
})
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

/** Puts a page where a browser can find it, and gives its URL. */
function put(name: string): string {
  const more = MORE_PAGES[name]
  server.state.nowMs = NOW_MS
  if (more !== undefined) return more(name)
  const shown = PAGES[name]
  if (shown === undefined) throw new Error(`no page ${name}`)
  server.state.nowMs = shown.nowMs
  return server.show(name, { ...shown.invoice, id: `inv_${name}` }, shown.merchantName)
}

/** The page's words, without those that only one of the two ways of drawing it has. */
const wordsOf = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const main = document.querySelector('main')?.cloneNode(true)
    if (!(main instanceof HTMLElement)) return ''
    for (const element of main.querySelectorAll('.scripted, noscript, time')) element.remove()
    return main.textContent ?? ''
  })

/** A wallet of the browser: pages of coins that it has show a button for it. */
function announceWallet(): void {
  const info = {
    uuid: 'one',
    name: 'Heron Wallet',
    icon: 'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 8 8%22%3E%3Ccircle cx=%224%22 cy=%224%22 r=%224%22/%3E%3C/svg%3E',
  }
  const detail = { info, provider: { request: async () => null } }
  addEventListener('eip6963:requestProvider', () =>
    dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail })),
  )
}

const words: { [page: string]: Set<string> } = {}

describe.each(LAYOUTS)('in $name', (layout) => {
  let page: Page
  let alerts: string[]
  beforeAll(async () => {
    const context = await browser.newContext({
      viewport: { width: layout.width, height: 900 },
      colorScheme: layout.colorScheme,
      javaScriptEnabled: layout.javaScriptEnabled,
      timezoneId: 'UTC',
      locale: layout.language ?? 'en-US',
    })
    await context.addInitScript(announceWallet)
    // One tab for all: a tab of its own for each page takes more than twice the time.
    page = await context.newPage()
    alerts = complaintsOf(page)
  })
  afterAll(() => page.context().close())

  test.each([...Object.keys(PAGES), ...Object.keys(MORE_PAGES)])(
    'the page of %s is whole, clean and readable',
    async (name) => {
      alerts.length = 0
      await page.goto(put(name))
      expect(await page.locator('h1').count()).toBe(1)
      expect(await overflow(page)).toBe(0)
      expect(await lowContrast(page)).toEqual([])
      expect(await smallTargets(page)).toEqual([])
      expect(await unnamed(page)).toEqual([])
      // axe waits with timers, which stand still where the page may run no script.
      if (layout.javaScriptEnabled && layout.name !== AXE_LESS) expect(await axeFaults(page)).toEqual([])
      expect(await page.locator('html').getAttribute('dir')).toBe(layout.language === 'ar' ? 'rtl' : 'ltr')
      words[`${name} ${layout.language}`] ??= new Set()
      words[`${name} ${layout.language}`]?.add(await wordsOf(page))
      // The browser itself reports a page that is not there, and that is what two of them are about.
      expect(alerts.filter((text) => !text.includes('Failed to load resource'))).toEqual([])
      await photograph(page, `checkout/${name}-${layout.name}`)
    },
  )
})

test('with script and without, every page says the same', () => {
  for (const [name, versions] of Object.entries(words)) expect([name, versions.size]).toEqual([name, 1])
})

describe('what a page says', () => {
  let context: BrowserContext
  beforeAll(async () => {
    context = await browser.newContext({ timezoneId: 'America/New_York' })
  })
  afterAll(() => context.close())

  async function textOf(name: string): Promise<string> {
    const shown = PAGES[name]
    if (shown === undefined) throw new Error(`no page ${name}`)
    server.state.nowMs = shown.nowMs
    const page = await context.newPage()
    await page.goto(server.show(name, { ...shown.invoice, id: `inv_${name}` }, shown.merchantName))
    const text = await page.evaluate(() => document.querySelector('main')?.textContent ?? '')
    await page.close()
    return text.replaceAll(/\s+/g, ' ')
  }

  test('always names the price in dollars and in coin', async () => {
    for (const name of Object.keys(INVOICES_BY_PAGE)) {
      const text = await textOf(name)
      expect(text, name).toContain('$49.99')
      expect(text, name).toContain('0.4123 LTC')
    }
  })

  test('while it awaits: the rate, its end in the buyer’s own time, the network, and the whole address', async () => {
    const text = await textOf('awaiting')
    expect(text).toContain('Rate locked until 9:05 AM')
    expect(text).toContain('1 LTC = $121.25')
    expect(text).toContain('Send only LTC on the Litecoin network.')
    expect(text).toContain(INVOICES_BY_PAGE.awaiting.address)
  })

  test('when it is short: what came, and how much more to send to the same address', async () => {
    const text = await textOf('underpaid')
    expect(text).toContain('Send 0.24738 LTC more')
    expect(text).toContain('We received 0.16492 LTC of 0.4123 LTC')
    expect(text).toContain(INVOICES_BY_PAGE.awaiting.address)
  })

  test('on the receipt, who sold it and what: name, address by line, number, in their own direction', async () => {
    const page = await context.newPage()
    const invoice = { ...paid, id: 'inv_sold', description: 'Two field guides' }
    await page.goto(`${server.show('sold', invoice)}/receipt?lang=ar`)
    const { legalName, postalAddress, taxNumber } = SELLER
    expect(await page.locator('.lines').innerText()).toBe(`${legalName}\n${postalAddress}`)
    const shown = await page.locator('main').innerText()
    for (const text of [taxNumber, 'Two field guides', 'البائع']) expect(shown).toContain(text)
    await page.emulateMedia({ media: 'print' })
    expect(await page.locator('.lines').isVisible()).toBe(true)
    await page.close()
  })

  test('on the receipt of a test payment, on the screen and on paper: TEST', async () => {
    const page = await context.newPage()
    for (const livemode of [false, true]) {
      const shown = { ...paid, id: `inv_live_${livemode}`, livemode }
      await page.goto(`${server.show(`live_${livemode}`, shown)}/receipt`)
      for (const media of ['screen', 'print'] as const) {
        await page.emulateMedia({ media })
        expect(await page.locator('h1').innerText()).toBe(livemode ? 'Receipt' : 'Receipt TEST')
      }
    }
    await page.close()
  })

  test('when it is paid: a receipt, and nothing that could be paid again', async () => {
    for (const name of [
      'paid',
      'overpaid',
      'accepted',
      'detected',
      'confirming',
      'expired',
      'cancelled',
      'checking',
    ]) {
      const text = await textOf(name)
      expect(text, name).not.toContain(INVOICES_BY_PAGE.awaiting.address)
      expect(text, name).not.toContain('Open in wallet')
      expect(text, name).not.toMatch(/Send [0-9]/)
    }
    expect(await textOf('paid')).toContain('7f3c1f0b2a9d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6071829304a5b6c7')
  })

  test('when it is confirming: both numbers; when it is too much: the excess and no promise', async () => {
    server.state.tipHeight = 101
    expect(await textOf('confirming')).toContain('Confirmation 2 of 6')
    const overpaid = await textOf('overpaid')
    expect(overpaid).toContain('0.24738 LTC more than the price')
    expect(overpaid).not.toMatch(/refund/i)
  })

  test('when it is over: the two answers kept apart', async () => {
    const text = await textOf('expired')
    expect(text).toContain('I haven’t paid')
    expect(text).toContain('I already sent it')
  })

  test('when it is confirming, and not before: that the page may be closed; when too little came: no step', async () => {
    expect(await textOf('detected')).not.toContain('You can close this page.')
    expect(await textOf('confirming')).toContain('You can close this page.')
    expect(await textOf('underpaid')).toContain('SendDetectedConfirmed')
    expect(await textOf('underpaid_over')).not.toContain('SendDetectedConfirmed')
  })

  test.each(['de', 'ja', 'ar'])('a phone shows each coin’s amount in one line (%s)', async (lang) => {
    const page = await context.newPage()
    await page.setViewportSize({ width: 320, height: 800 })
    await page.goto(`${put('open')}?lang=${lang}`)
    const amounts = page.locator('.coin-amount bdi')
    expect(await amounts.allInnerTexts()).toEqual(['≈ 0.00051234 BTC', '≈ 0.4123 LTC', '≈ 0.123457 ETH'])
    expect(await amounts.evaluateAll((all) => all.map((one) => one.getClientRects().length))).toEqual([
      1, 1, 1,
    ])
    await photograph(page, `checkout/coins-phone-${lang}`)
    await page.close()
  })

  test('before and after Continue, and on the way by card: what is paid for', async () => {
    const can = { linkName: OPEN.linkName, card: CARD }
    const ordered = { ...awaiting, id: 'inv_ordered', orderReference: 'order-1042' }
    const invoice = server.show('ordered', ordered, undefined, can)
    const waiting = server.show('waiting', { ...ordered, id: 'inv_waiting' }, undefined, {
      ...can,
      card: { ...CARD, waiting: BUYER_AWAY },
    })
    const urls = [put('open_session'), invoice, `${invoice}/card`, waiting]
    const page = await context.newPage()
    for (const url of [...urls, `${invoice}/card/test?purchase=${CARD_OFFER.id}`]) {
      await page.goto(url)
      const text = await page.locator('main').innerText()
      expect(text, url).toContain(OPEN.linkName)
      expect(text, url).toMatch(/Order\s+order-1042/)
      expect(text, url).toMatch(/\$(49\.99|52\.63)/)
    }
    await page.close()
  })

  test('about money in review: that it was found, by which transaction', async () => {
    for (const name of ['review_late', 'review_cancelled']) {
      const text = await textOf(name)
      expect(text).toContain('We found your payment')
      expect(text).toContain('7f3c1f0b2a9d4e5f60718293a4b5c6d7')
    }
  })
})

test('without script, an open page reloads by itself and a finished one rests', async () => {
  const html = async (name: string) => {
    const shown = PAGES[name]
    if (shown === undefined) throw new Error(`no page ${name}`)
    return (await fetch(server.show(name, { ...shown.invoice, id: `inv_${name}` }))).text()
  }
  const reload = /<noscript>(?:(?!<\/noscript>).)*http-equiv="refresh" content="15"/
  for (const name of ['awaiting', 'detected', 'confirming', 'underpaid', 'expired', 'checking']) {
    expect(await html(name), name).toMatch(reload)
  }
  for (const name of ['paid', 'overpaid', 'cancelled']) expect(await html(name), name).not.toMatch(reload)
})

test('hostile text is shown as text, and runs nowhere', async () => {
  const hostile = [
    `"><script>alert(1)</script><img src=x onerror=alert(2)>`,
    `'-alert(3)-' onmouseover=alert(4) </title><script>alert(5)</script>`,
    `</main><form action=https://evil.example><button>Pay`,
    `{{7*7}} \${7*7} <svg/onload=alert(6)> &lt;b&gt;`,
  ]
  const page = await browser.newPage()
  const alerts = complaintsOf(page)
  server.state.nowMs = NOW_MS
  for (const [index, name] of hostile.entries()) {
    for (const [kind, invoice] of Object.entries(INVOICES_BY_PAGE)) {
      const metadata = { note: name }
      const token = `hostile-${index}-${kind}`
      const hurt: Invoice = {
        ...invoice,
        id: `inv_${token}`,
        metadata,
        customerEmail: name,
        externalReference: name,
      }
      await page.goto(server.show(token, hurt, name))
      expect(await page.locator('.shop-name').textContent()).toBe(name)
      expect(
        await page.locator('main img:not(.logo), main script, main [onload], main [onmouseover]').count(),
      ).toBe(0)
      expect(await page.locator('main').count()).toBe(1)
    }
  }
  expect(alerts).toEqual([])
  await page.close()
})

test('a wide screen shows the summary beside the ways to pay, as on the README’s picture', async () => {
  server.brand(NO_BRANDING)
  const context = await browser.newContext({
    viewport: { width: 1150, height: 700 },
    deviceScaleFactor: 1.5,
    timezoneId: 'UTC',
    locale: 'en-US',
  })
  const page = await context.newPage()
  await page.clock.setFixedTime(NOW_MS)
  const invoice = litecoinInvoice({
    id: 'inv_readme',
    livemode: true,
    asset: 'USDC_BASE',
    amount: 49_990_000n,
    address: ADDRESS_EVM,
    rate: { usdPerUnit: '1', quotedAt: '2026-11-21T13:05:00.000Z', sources: [] },
    description: 'The complete guide to wading birds',
    orderReference: '1042',
  })
  const coins = COINS.filter(({ asset }) => asset !== 'USDC_BASE')
  await page.goto(server.show('readme', invoice, undefined, { card: CARD, otherCoins: coins }))
  const [summary, ways] = await Promise.all(
    ['#heading', '#methods'].map((selector) => page.locator(selector).boundingBox()),
  )
  expect(ways?.y).toBe(summary?.y)
  expect(ways?.x).toBeGreaterThan((summary?.x ?? 0) + (summary?.width ?? 0))
  await photograph(page, 'checkout')
  await context.close()
})

test('a till offers each network on a narrow phone, and is green for as long as it is paid', async () => {
  server.state.nowMs = NOW_MS
  const context = await browser.newContext({ viewport: { width: 320, height: 568 }, locale: 'en-US' })
  const page = await context.newPage()
  const sale = litecoinInvoice({
    id: 'inv_till',
    asset: 'USDC_BASE',
    alsoAccepts: ['USDC_ETHEREUM', 'USDC_ARBITRUM', 'USDC_POLYGON'],
    address: ADDRESS_EVM,
  })
  server.show('sale', sale, undefined, { tillSlug: 'pl_till' })
  await page.goto(`${server.url}/till/pl_till/sale/sale`)
  for (const network of ['Base', 'Ethereum', 'Arbitrum One', 'Polygon'])
    expect(await page.getByRole('button', { name: network, exact: true }).isVisible(), network).toBe(true)
  expect(await overflow(page)).toBe(0)
  expect(await smallTargets(page)).toEqual([])
  await photograph(page, 'checkout/till-networks')
  // Green for as long as it is paid: the network can take back what seemed final.
  server.show('sale', { ...paid, id: 'inv_till' }, undefined, { tillSlug: 'pl_till' })
  await page.locator('#till-done').waitFor()
  server.show('sale', sale, undefined, { tillSlug: 'pl_till' })
  await page.locator('#till-done').waitFor({ state: 'hidden' })
  await context.close()
})
