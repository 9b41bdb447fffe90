// @module-tag chromium
import { createServer } from 'node:http'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser } from '../support/browser.ts'
import { type CheckoutServer, startCheckoutServer } from '../support/checkout-server.ts'
import { complaintsOf } from '../support/page-checks.ts'

let server: CheckoutServer
let browser: Browser
beforeAll(async () => {
  server = await startCheckoutServer()
  browser = await launchBrowser()
})
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

/** A shop's page on an origin of its own, under the strictest rules that a site can set. */
async function openShop(body: string): Promise<{ page: Page; alerts: string[]; close: () => Promise<void> }> {
  const shop = createServer((_request, response) => {
    response.writeHead(200, {
      'content-type': 'text/html',
      'content-security-policy': `default-src 'none'; script-src ${server.url}; require-trusted-types-for 'script'; trusted-types 'none'`,
      'cross-origin-embedder-policy': 'require-corp',
      'cross-origin-opener-policy': 'same-origin',
    })
    response.end(`<!doctype html><title>Shop</title><body>${body}`)
  })
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve))
  const address = shop.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const page = await browser.newPage()
  const alerts = complaintsOf(page)
  await page.goto(`http://127.0.0.1:${address.port}/`)
  return {
    page,
    alerts,
    close: async () => {
      await page.close()
      shop.closeAllConnections()
      await new Promise((resolve) => shop.close(resolve))
    },
  }
}

const script = (attributes = '') => `<script src="${server.url}/embed.js" ${attributes}></script>`
const hrefs = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('span')].flatMap((host) => {
      const link = host.shadowRoot?.querySelector('a')
      return link ? [[link.textContent, link.href, link.target, link.rel]] : []
    }),
  )

test('embed.js is at most a kilobyte and may be loaded by any site', async () => {
  const answer = await fetch(`${server.url}/embed.js`)
  const text = await answer.text()
  expect(gzipSync(text).length).toBeLessThanOrEqual(1_024)
  expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
  expect(answer.headers.get('cross-origin-resource-policy')).toBe('cross-origin')
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  expect(answer.headers.get('cache-control')).toContain('max-age')
})

test('the script and any element become links, also later, under the strictest policy', async () => {
  const { page, alerts, close } = await openShop(
    `${script('data-ulasend-link="pl_aaaaaaaaaa" data-label="Donate"')}
     <p data-paylink-link="pl_bbbbbbbbbb" data-usd-amount="12.50"></p>
     <b data-paylink-link="pl_dddddddddd" data-amount="4999" data-currency="JPY"></b>${script()}`,
  )
  const rest = ['_blank', 'noopener']
  const first = [
    ['Donate', `${server.url}/l/pl_aaaaaaaaaa`, ...rest],
    ['Pay', `${server.url}/l/pl_bbbbbbbbbb?usd=12.50`, ...rest],
    ['Pay', `${server.url}/l/pl_dddddddddd?amount=4999&currency=JPY`, ...rest],
  ]
  expect(await hrefs(page)).toEqual(first)
  await page.evaluate(() => {
    const late = document.createElement('div')
    late.dataset.paylinkLink = 'pl_cccccccccc'
    late.dataset.label = '<img src=x onerror=alert(1)>'
    document.body.append(late)
  })
  await expect
    .poll(() => hrefs(page))
    .toEqual([...first, ['<img src=x onerror=alert(1)>', `${server.url}/l/pl_cccccccccc`, ...rest]])
  await page.evaluate(() => document.querySelector('p')?.setAttribute('data-usd-amount', '13'))
  await expect.poll(async () => (await hrefs(page))[1]?.[1]).toBe(`${server.url}/l/pl_bbbbbbbbbb?usd=13`)
  const look = await page.evaluate(() => {
    const link = document.querySelector('p span')?.shadowRoot?.querySelector('a')
    return link ? getComputedStyle(link).backgroundColor : null
  })
  expect(look).toBe('rgb(43, 80, 216)')
  expect(alerts).toEqual([])
  await close()
})

test.each(['paylink', 'ulasend'])('a press emits one bubbling event of %s, and opens a tab', async (name) => {
  server.showLink('pl_aaaaaaaaaa', { kind: 'neutral' })
  const { page, close } = await openShop(script(`data-${name}-link="pl_aaaaaaaaaa"`))
  await page.evaluate(() => {
    for (const type of ['paylink:open', 'ulasend:open']) {
      document.addEventListener(type, (event) => {
        document.body.dataset.heard = `${document.body.dataset.heard ?? ''}${type} ${JSON.stringify((event as CustomEvent).detail)}`
      })
    }
  })
  const opened = page.context().waitForEvent('page')
  await page.locator('a').click()
  const tab = await opened
  await tab.waitForLoadState()
  expect(tab.url()).toBe(`${server.url}/l/pl_aaaaaaaaaa`)
  expect(await tab.evaluate(() => [window.opener, document.referrer === ''])).toEqual([null, false])
  expect(await page.evaluate(() => document.body.dataset.heard)).toBe(`${name}:open {"link":"pl_aaaaaaaaaa"}`)
  await tab.close()
  await close()
})

test('what is no slug or no amount becomes no link', async () => {
  const wrong = [
    '',
    'pl_short',
    'pl_aaaaaaaaaa/../../evil',
    'javascript:alert(1)',
    '//evil.example',
    'pl_aaaaaaaaa"',
  ]
  const amounts = ['1e5', '-1', '0x10', '1.234', '12,50', ' 5', '5&lang=de']
  const prices = [
    'data-amount="5"',
    'data-currency="EUR"',
    'data-amount="5" data-currency="eur"',
    'data-amount="1e5" data-currency="EUR"',
    'data-amount="5" data-currency="EUR&usd=1"',
    'data-amount="5" data-currency="EUR" data-usd-amount="5"',
  ]
  const { page, close } = await openShop(
    script() +
      prices.map((price) => `<p data-paylink-link="pl_aaaaaaaaaa" ${price}></p>`).join('') +
      wrong.map((slug) => `<p data-ulasend-link='${slug}'></p>`).join('') +
      amounts.map((usd) => `<p data-ulasend-link="pl_aaaaaaaaaa" data-usd-amount="${usd}"></p>`).join(''),
  )
  await page.waitForFunction(() => document.readyState === 'complete')
  expect(await hrefs(page)).toEqual([])
  await close()
})
