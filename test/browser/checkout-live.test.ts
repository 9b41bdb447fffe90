// @module-tag chromium
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Invoice } from '../../src/core/invoice/types.ts'
import { launchBrowser } from '../support/browser.ts'
import { EXPIRES_AT_MS, INVOICES_BY_PAGE, litecoinInvoice, NOW_MS } from '../support/checkout-invoice.ts'
import { type CheckoutServer, startCheckoutServer } from '../support/checkout-server.ts'
import { complaintsOf } from '../support/page-checks.ts'

const { awaiting, detected, confirming, underpaid, paid, expired } = INVOICES_BY_PAGE

const OFFERING_CARD = { card: { asset: 'LTC', waiting: null } } as const

let browser: Browser
let server: CheckoutServer
let context: BrowserContext
let page: Page
let played: string[]
beforeAll(async () => {
  browser = await launchBrowser()
})
afterAll(() => browser?.close())
beforeEach(async () => {
  played = []
  server = await startCheckoutServer({
    card: {
      sells: () => true,
      ask: async () => ({ kind: 'offered' }),
      offers: async () => [],
      leave: async () => ({ kind: 'over' }),
      test: { read: async () => null, play: async () => 'played' },
    },
    sandbox: {
      serves: () => true,
      payInvoice: async ({ scenario }) => {
        if (scenario === 'reorg') throw new Error('the sandbox is away')
        played.push(scenario)
        server.show('t', paid)
      },
    },
  })
  context = await browser.newContext({
    viewport: { width: 1000, height: 900 },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  page = await context.newPage()
})
afterEach(async () => {
  await context.close()
  await server.close()
})

const heading = () => page.locator('h1')
const said = () => page.locator('#announcer').textContent()
const connected = () => expect.poll(() => server.checkout.streams.size).toBe(1)
async function open(invoice: Invoice): Promise<void> {
  await page.goto(server.show('t', invoice))
  await connected()
}
/** The page is the document that was loaded first, never a reloaded one. */
async function mark(): Promise<void> {
  await page.evaluate(() => document.body.classList.add('first-load'))
}
const isFirstLoad = () => page.evaluate(() => document.body.classList.contains('first-load'))

describe('an open page', () => {
  test('follows a payment from awaiting to paid without a reload, and announces each milestone once', async () => {
    const alerts = complaintsOf(page)
    await open(awaiting)
    await mark()
    expect(await page.title()).toBe('Pay Blue Heron Books')
    server.show('t', detected)
    await expect.poll(() => heading().textContent()).toBe('Payment detected')
    expect(await said()).toMatch(/^Payment detected\. The Litecoin network has your payment/)
    server.state.tipHeight = 100
    server.show('t', confirming)
    await expect.poll(() => heading().textContent()).toBe('Confirming your payment')
    await page.evaluate(() => document.getElementById('announcer')?.replaceChildren())
    for (let height = 101; height <= 104; height++) {
      server.state.tipHeight = height
      server.show('t', confirming)
      await expect.poll(() => page.locator('progress').getAttribute('value')).toBe(String(height - 99))
    }
    expect(await said()).toBe('')
    server.show('t', paid)
    await expect.poll(() => heading().textContent()).toBe('Payment complete')
    expect(await said()).toMatch(/^Payment complete\. Thank you/)
    expect(await page.title()).toBe('Payment complete – Blue Heron Books')
    expect(await isFirstLoad()).toBe(true)
    expect(alerts).toEqual([])
  })

  test('announces in Japanese without a space between sentences', async () => {
    await page.goto(`${server.show('t', awaiting)}?lang=ja`)
    await connected()
    server.show('t', detected)
    await expect.poll(said).toMatch(/^お支払いを検出しました。Litecoin/)
  })

  test('fills the button that opens a wallet on a phone, and not where the pointer is a mouse', async () => {
    const url = server.show('t', awaiting)
    const phone = await browser.newContext({ isMobile: true, hasTouch: true })
    const [filled, outlined] = await Promise.all(
      [await phone.newPage(), page].map(async (each) => {
        await each.goto(url)
        return each.locator('#open-wallet').evaluate((button) => getComputedStyle(button).backgroundColor)
      }),
    )
    expect([filled, outlined]).toEqual(['rgb(43, 80, 216)', 'rgb(255, 255, 255)'])
    await phone.close()
  })

  test('leads phones to a wallet’s own app, which opens this very page, until a wallet is there', async () => {
    const live = await startCheckoutServer({ baseUrl: 'https://pay.example.com' })
    const phone = await browser.newContext({ isMobile: true, hasTouch: true })
    const still = await browser.newContext({ isMobile: true, hasTouch: true, javaScriptEnabled: false })
    const evm = { address: `0x${'ab'.repeat(20)}`, livemode: true } as const
    const urlOf = (asset: Invoice['asset'], change: Partial<Invoice> = {}) =>
      live.show(asset, litecoinInvoice({ ...evm, id: `inv_${asset}`, asset, amount: 5_500_000n, ...change }))
    const linkOf = async (url: string) =>
      /id="wallet-app" href="([^"]+)"/.exec(await (await fetch(url)).text())?.[1]
    const metamask = (asset: string) => `https://link.metamask.io/dapp/pay.example.com/i/${asset}`
    expect(await linkOf(urlOf('USDC_BASE'))).toBe(metamask('USDC_BASE'))
    expect(await linkOf(urlOf('ETH'))).toBe(metamask('ETH'))
    expect(await linkOf(urlOf('SOL', { address: 'So11111111111111111111111111111111111111112' }))).toBe(
      'https://phantom.app/ul/browse/https%3A%2F%2Fpay.example.com%2Fi%2FSOL?ref=https%3A%2F%2Fpay.example.com',
    )
    expect(await linkOf(urlOf('LTC'))).toBeUndefined()
    expect(await linkOf(urlOf('ETH_BASE', { livemode: false }))).toBeUndefined()
    // These apps open no page without https.
    const here = server.show('t', litecoinInvoice({ ...evm, asset: 'ETH' }))
    expect(await linkOf(here)).toBeUndefined()
    const url = `${live.url}/i/USDC_BASE`
    const isShown = async (of: BrowserContext, hasWallet = false) => {
      const each = await of.newPage()
      if (hasWallet)
        await each.addInitScript(() => {
          const info = { uuid: 'one', name: 'MetaMask', icon: '' }
          const detail = { info, provider: { request: async () => null } }
          addEventListener('eip6963:requestProvider', () =>
            dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail })),
          )
        })
      await each.goto(url)
      return each.locator('#wallet-app').isVisible()
    }
    expect(await isShown(phone)).toBe(true)
    expect(await isShown(still)).toBe(true)
    expect(await isShown(phone, true)).toBe(false)
    expect(await isShown(context)).toBe(false)
    await Promise.all([phone.close(), still.close()])
    await live.close()
  })

  test('shows dollar coins with cents, and copies the amount as it is', async () => {
    const dollars = { asset: 'USDC_BASE', amount: 5_500_000n, address: `0x${'ab'.repeat(20)}` } as const
    await open(litecoinInvoice(dollars))
    expect(await heading().textContent()).toBe('Send 5.50 USDC')
    expect(await page.locator('#amount-value').innerText()).toBe('5.50 USDC')
    await page.locator('#copy-amount').click()
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe('5.5')
    await open(litecoinInvoice({ ...dollars, amount: 5_000_000n }))
    expect(await heading().textContent()).toBe('Send 5.00 USDC')
    await open(litecoinInvoice({ ...dollars, amount: 5_000_001n }))
    expect(await heading().textContent()).toBe('Send 5.000001 USDC')
  })

  test('keeps the buyer’s place, tab and focus when it changes under them', async () => {
    await open(awaiting)
    await page.locator('label[for=qr-address]').click()
    await page.locator('#sandbox-summary').click()
    await page.locator('#copy-address').focus()
    server.show('t', underpaid)
    await expect.poll(() => heading().textContent()).toBe('Send 0.24738 LTC more')
    expect(await page.locator('#qr-address').isChecked()).toBe(true)
    expect(await page.locator('#sandbox').getAttribute('open')).toBeNull()
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('copy-address')
    server.show('t', paid)
    await expect.poll(() => heading().textContent()).toBe('Payment complete')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('heading')
  })

  test('asks by itself where no event stream gets through', async () => {
    await page.clock.install({ time: NOW_MS })
    await page.route('**/events*', (route) => route.abort())
    await page.goto(server.show('t', awaiting))
    await mark()
    server.show('t', paid)
    await page.clock.runFor(26_000)
    await expect.poll(() => heading().textContent()).toBe('Payment complete')
    expect(await isFirstLoad()).toBe(true)
  })

  test('says that it is offline, and catches up when the network is back', async () => {
    await open(awaiting)
    await mark()
    await context.setOffline(true)
    await expect.poll(() => page.locator('#lost').isVisible()).toBe(true)
    server.show('t', paid)
    await context.setOffline(false)
    await expect.poll(() => heading().textContent()).toBe('Payment complete')
    await expect.poll(() => page.locator('#lost').isVisible()).toBe(false)
    expect(await isFirstLoad()).toBe(true)
  })

  test('catches up at once when it is looked at again', async () => {
    await page.route('**/events*', (route) => route.abort())
    await page.goto(server.show('t', awaiting))
    server.show('t', paid)
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    await expect.poll(() => heading().textContent()).toBe('Payment complete')
  })

  test('says within five seconds that the server is gone', async () => {
    await open(awaiting)
    await page.route('**/state*', (route) => route.abort())
    server.checkout.streams.close()
    await expect.poll(() => page.locator('#lost').isVisible(), { timeout: 5_000 }).toBe(true)
  })

  test('says within five seconds that the network is silent, and takes it back when it is not', async () => {
    const wires = new Set<Socket>()
    const network = createTcpServer((near) => {
      const far = connect(Number(new URL(server.url).port), '127.0.0.1')
      for (const wire of [near, far]) wires.add(wire.on('error', () => {}))
      near.pipe(far).pipe(near)
    })
    await new Promise<void>((resolve) => network.listen(0, '127.0.0.1', resolve))
    const { port } = network.address() as AddressInfo
    try {
      await page.goto(server.show('t', awaiting).replace(new URL(server.url).host, `127.0.0.1:${port}`))
      const beats = () => page.evaluate(() => document.body.dataset.beats)
      await page.evaluate(() => {
        const source = new EventSource(`${location.pathname}/events`)
        source.addEventListener('beat', () => {
          document.body.dataset.beats = '1'
        })
      })
      await expect.poll(beats).toBe('1')
      for (const wire of wires) wire.pause()
      await expect.poll(() => page.locator('#lost').isVisible(), { timeout: 5_000 }).toBe(true)
      for (const wire of wires) wire.resume()
      await expect.poll(() => page.locator('#lost').isVisible()).toBe(false)
    } finally {
      await page.goto('about:blank')
      for (const wire of wires) wire.destroy()
      network.close()
    }
  })

  test('does not wait for ever for an answer where no event stream gets through', async () => {
    await page.route('**/events*', (route) => route.abort())
    await page.route('**/state*', () => {})
    await page.goto(server.show('t', awaiting))
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    await expect.poll(() => page.locator('#lost').isVisible(), { timeout: 8_000 }).toBe(true)
  })

  test('survives a restart of the server', async () => {
    await open(awaiting)
    await mark()
    server.checkout.streams.close()
    await server.restart()
    server.show('t', paid)
    await expect.poll(() => heading().textContent()).toBe('Payment complete')
    expect(await isFirstLoad()).toBe(true)
  })

  test('is not turned back by an answer that was overtaken', async () => {
    await page.goto(server.show('t', awaiting))
    await connected()
    const old = await (await fetch(`${server.url}/i/t/state`)).text()
    server.state.nowMs += 5_000
    server.show('t', paid)
    await expect.poll(() => heading().textContent()).toBe('Payment complete')
    const answered = page.waitForResponse('**/state*')
    await page.route('**/state*', (route) => route.fulfill({ body: old, contentType: 'application/json' }))
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')))
    await (await answered).finished()
    expect(await heading().textContent()).toBe('Payment complete')
  })
})

describe('the countdown', () => {
  beforeEach(async () => {
    await page.clock.install({ time: NOW_MS - 1_000 })
    // From here on time passes only when the test says so.
    await page.clock.pauseAt(NOW_MS)
    isCutOff = false
    await page.route('**/events*', (route) => route.abort())
    await page.route('**/state*', (route) => (isCutOff ? route.abort() : route.continue()))
  })
  let isCutOff = false
  const countdown = () => page.locator('#countdown').textContent()
  /** Both clocks move; the page hears nothing of the server's meanwhile, or it would jump ahead of its own. */
  async function passTo(leftMs: number): Promise<void> {
    isCutOff = true
    const stepMs = EXPIRES_AT_MS - leftMs - server.state.nowMs
    await page.clock.runFor(stepMs)
    server.state.nowMs += stepMs
  }

  test('warns at five minutes and at one, and ends in the page that comes after', async () => {
    await page.goto(server.show('t', awaiting))
    expect(await countdown()).toBe('56:00')
    await passTo(302_000)
    expect(await said()).toBe('')
    await passTo(299_000)
    expect(await said()).toBe('Less than 5 minutes left to pay.')
    expect(await page.locator('#deadline').getAttribute('class')).toContain('soon')
    expect(await countdown()).toMatch(/^(5:00|4:59)$/)
    await passTo(59_000)
    expect(await said()).toBe('Less than 1 minute left to pay.')
    expect(await page.locator('#deadline').getAttribute('class')).toContain('last')
    expect(await countdown()).toMatch(/^(1:00|0:59)$/)
    await passTo(500)
    server.state.nowMs += 3_000
    isCutOff = false
    // An answer from before may come late, and the page then waits as long again before it asks.
    const headingAfter = (ms: number) => async () => {
      await page.clock.runFor(ms)
      return heading().textContent()
    }
    await expect.poll(headingAfter(3_000)).toBe('Checking for your payment')
    server.show('t', expired)
    await expect.poll(headingAfter(26_000)).toBe('This payment has expired')
  })

  test('follows the server’s clock where the buyer’s own is wrong', async () => {
    await page.clock.setSystemTime(NOW_MS + 7 * 60 * 60_000)
    await page.goto(server.show('t', awaiting))
    expect(await countdown()).toBe('56:00')
  })

  test('counts hours where there are hours', async () => {
    await page.goto(server.show('t', litecoinInvoice({ expiresAtMs: NOW_MS + 24 * 60 * 60_000 })))
    expect(await countdown()).toBe('24:00:00')
  })
})

describe('the buttons', () => {
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText())

  test('copy the bare amount and the whole address, and say so', async () => {
    await open(awaiting)
    await page.locator('#copy-amount').click()
    await expect.poll(() => page.locator('#copy-amount').textContent()).toBe('Copied')
    expect(await clipboard()).toBe('0.4123')
    expect(await said()).toBe('Copied')
    await page.locator('#copy-address').click()
    await expect.poll(clipboard).toBe(awaiting.address)
  })

  test('copy without the clipboard’s interface, which plain http has not', async () => {
    await page.addInitScript(() => {
      Object.defineProperty(navigator, 'clipboard', { value: undefined })
      document.execCommand = () => {
        document.body.dataset.copiedText = getSelection()?.toString() ?? ''
        return true
      }
    })
    await open(awaiting)
    await page.locator('#copy-address').click()
    await expect.poll(() => page.locator('#copy-address').textContent()).toBe('Copied')
    expect(await page.evaluate(() => document.body.dataset.copiedText)).toBe(awaiting.address)
  })

  test('open the wallet with the amount that is still missing', async () => {
    await open(awaiting)
    expect(await page.locator('#open-wallet').getAttribute('href')).toBe(
      `litecoin:${awaiting.address}?amount=0.4123`,
    )
    server.show('t', underpaid)
    await expect
      .poll(() => page.locator('#open-wallet').getAttribute('href'))
      .toBe(`litecoin:${awaiting.address}?amount=0.24738`)
  })

  test('of the sandbox play their scenario without leaving the page, and say when they could not', async () => {
    await open(awaiting)
    await mark()
    await page.locator('#sandbox-reorg').click()
    await expect.poll(() => page.locator('#sandbox-failure').isVisible()).toBe(true)
    await page.locator('#sandbox-two_parts').click()
    await expect.poll(() => heading().textContent()).toBe('Payment complete')
    expect(played).toEqual(['two_parts'])
    expect(await isFirstLoad()).toBe(true)
  })
})

describe('with the keyboard alone', () => {
  test('everything is reached in the order in which it is read, and visibly', async () => {
    await open(awaiting)
    const reached: string[] = []
    for (let step = 0; step < 12; step++) {
      await page.keyboard.press('Tab')
      const { id, ring } = await page.evaluate(() => {
        const active = document.activeElement
        const seen = active instanceof HTMLInputElement ? active.labels?.[0] : active
        return { id: active?.id ?? '', ring: seen ? getComputedStyle(seen).outlineStyle : 'none' }
      })
      expect([id, ring]).toEqual([id, 'solid'])
      reached.push(id)
    }
    expect(reached.slice(0, 7)).toEqual([
      'method-wallet',
      'open-wallet',
      'copy-amount',
      'copy-address',
      'qr-payment',
      'sandbox-summary',
      'sandbox-exact',
    ])
  })

  test.each([
    ['en', 'ArrowRight', 'ArrowLeft'],
    ['ar', 'ArrowLeft', 'ArrowRight'],
  ])('the ways to pay are tabs that the arrows change (%s)', async (lang, forward, back) => {
    await page.goto(`${server.show('t', awaiting, undefined, OFFERING_CARD)}?lang=${lang}`)
    const tabs = page.getByRole('tab')
    const chosen = () => page.getByRole('tab', { selected: true }).getAttribute('id')
    expect(await tabs.count()).toBe(3)
    await tabs.first().focus()
    for (const [key, method] of [
      [forward, 'exchange'],
      [forward, 'card'],
      [forward, 'wallet'],
      [back, 'card'],
      ['Home', 'wallet'],
      ['End', 'card'],
      [back, 'exchange'],
    ] as const) {
      await page.keyboard.press(key)
      expect(await chosen()).toBe(`method-${method}`)
      expect(await page.evaluate(() => document.activeElement?.id)).toBe(`method-${method}`)
      expect(await page.getByRole('tabpanel').getAttribute('aria-labelledby')).toBe(`method-${method}`)
      expect(new URL(page.url()).searchParams.get('pay')).toBe(method)
      expect(await page.locator('#open-wallet').isVisible()).toBe(method === 'wallet')
      expect(await page.locator('.for-exchange').isVisible()).toBe(method === 'exchange')
      expect(await page.locator('#by-card').isVisible()).toBe(method === 'card')
      expect(await page.locator('#address-value').isVisible()).toBe(method !== 'card')
      expect(await page.locator('.qr-address').isVisible()).toBe(method === 'exchange')
    }
    // A change of the payment, and a reload, leave the buyer at the way that they chose.
    server.show('t', underpaid, undefined, OFFERING_CARD)
    await expect.poll(() => page.locator('main').getAttribute('data-state')).toBe('underpaid')
    expect(await chosen()).toBe('method-exchange')
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('method-exchange')
    await page.reload()
    expect(await chosen()).toBe('method-exchange')
    expect(await page.locator('.qr-address').isVisible()).toBe(true)
    const labels = ['address', 'payment'].map((code) => page.locator(`label[for=qr-${code}]`).boundingBox())
    const [address, payment] = await Promise.all(labels)
    const isBefore = (address?.x ?? 0) < (payment?.x ?? 0)
    expect(isBefore).toBe(lang === 'en')
  })

  test('the QR code changes with the arrows, and Enter copies', async () => {
    await open(awaiting)
    await page.locator('#qr-payment').focus()
    await page.keyboard.press('ArrowRight')
    expect(await page.locator('.qr-address').isVisible()).toBe(true)
    expect(await page.locator('.qr-payment').isVisible()).toBe(false)
    await page.locator('#copy-amount').focus()
    await page.keyboard.press('Enter')
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe('0.4123')
  })
})

describe('without script', () => {
  test('the QR code changes, the sandbox plays, and nothing is shown that only script can do', async () => {
    const plain = await browser.newContext({ javaScriptEnabled: false })
    const still = await plain.newPage()
    await still.goto(server.show('t', awaiting))
    expect(await still.locator('.copy:visible, .countdown:visible').count()).toBe(0)
    expect(await still.locator('time').textContent()).toBe('14:05 UTC')
    await still.locator('label[for=qr-address]').click()
    expect(await still.locator('.qr-address').isVisible()).toBe(true)
    await still.locator('#sandbox-exact').click()
    await expect.poll(() => still.locator('h1').textContent()).toBe('Payment complete')
    expect(new URL(still.url()).pathname).toBe('/i/t')
    await plain.close()
  })

  test('the ways to pay are links, and the page in every language keeps the one that was chosen', async () => {
    const plain = await browser.newContext({ javaScriptEnabled: false })
    const still = await plain.newPage()
    await still.goto(`${server.show('t', awaiting, undefined, OFFERING_CARD)}?lang=de`)
    await still.getByRole('link', { name: 'Börse' }).click()
    await still.locator('.for-exchange').waitFor()
    expect(await still.locator('#open-wallet').isVisible()).toBe(false)
    expect(await still.locator('.methods [aria-current]').textContent()).toBe('Börse')
    await still.getByRole('link', { name: 'English' }).click()
    await still.locator('.methods [aria-current]', { hasText: 'Exchange' }).waitFor()
    await still.getByRole('link', { name: 'Card', exact: true }).click()
    await still.locator('#by-card').waitFor()
    expect(await still.locator('#address-value').isVisible()).toBe(false)
    // A card that is not to be had is no way to pay.
    await still.goto(`${server.show('t', awaiting)}?pay=card`)
    expect(await still.locator('.methods [aria-current]').textContent()).toBe('Wallet')
    await plain.close()
  })
})

test.each([true, false])(
  'a card that was declined leaves the buyer at the card (script: %s)',
  async (script) => {
    const context = await browser.newContext({ javaScriptEnabled: script })
    const page = await context.newPage()
    const waiting = {
      purchaseId: 'card_01jd8x5v7k0000000000000003',
      leftAtMs: NOW_MS,
      provider: 'coinbase',
      asset: 'LTC',
      update: 'failed',
    } as const
    const url = server.show('t', awaiting, undefined, { card: { asset: 'LTC', waiting } })
    await page.goto(url)
    await page.locator('#card-declined').waitFor()
    await page.locator('#by-card').waitFor()
    expect(await page.locator('#address-value').isVisible()).toBe(false)
    await page.goto(`${url}?pay=wallet`)
    await page.locator('#address-value').waitFor()
    await context.close()
  },
)

test('in another site’s frame the page stays blank', async () => {
  const url = server.show('t', awaiting)
  const other = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end(`<iframe src="${url}" width="600" height="600"></iframe>`)
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  const address = other.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'))
  await page.goto(`http://127.0.0.1:${address.port}/`)
  await refused
  const [, frame] = page.frames()
  expect(await frame?.locator('#checkout, svg').count()).toBe(0)
  expect(await frame?.locator('body').textContent()).not.toContain('LTC')
  expect(server.checkout.streams.size).toBe(0)
  other.closeAllConnections()
  other.close()
})
