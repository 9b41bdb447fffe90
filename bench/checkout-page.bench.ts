import type { Browser, BrowserContext } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchBrowser } from '../test/support/browser.ts'
import { INVOICES_BY_PAGE } from '../test/support/checkout-invoice.ts'
import { type CheckoutServer, startCheckoutServer } from '../test/support/checkout-server.ts'
import { printFigure } from './support/figure.ts'

/** A phone on a slow network: 1.6 Mbit/s, 150 ms for each answer, a processor a quarter as fast. */
const BYTES_PER_SECOND = (1.6 * 1_000_000) / 8
const LATENCY_MS = 150
const SLOWDOWN = 4
/** After the page has come, for what may still move. */
const SETTLE_MS = 400

let server: CheckoutServer
let browser: Browser
let context: BrowserContext
beforeAll(async () => {
  server = await startCheckoutServer({ sandbox: { serves: () => true, payInvoice: async () => {} } })
  browser = await launchBrowser()
  context = await browser.newContext({ viewport: { width: 390, height: 844 } })
})
afterAll(async () => {
  await browser?.close()
  await server?.close()
})

type Visit = { readonly name: string; readonly bytes: number; readonly lcpMs: number; readonly cls: number }

async function visit(name: string, url: string): Promise<Visit> {
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  let bytes = 0
  session.on('Network.loadingFinished', ({ encodedDataLength }) => {
    bytes += encodedDataLength
  })
  await session.send('Network.enable')
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: LATENCY_MS,
    downloadThroughput: BYTES_PER_SECOND,
    uploadThroughput: BYTES_PER_SECOND,
  })
  await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN })
  await page.goto(url, { waitUntil: 'load' })
  const seen = await page.evaluate(
    (settleMs) =>
      new Promise<{ lcpMs: number; cls: number }>((resolve) => {
        let lcpMs = 0
        let cls = 0
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) lcpMs = Math.max(lcpMs, entry.startTime)
        }).observe({ type: 'largest-contentful-paint', buffered: true })
        new PerformanceObserver((list) => {
          for (const entry of list.getEntries()) cls += (entry as unknown as { value: number }).value
        }).observe({ type: 'layout-shift', buffered: true })
        setTimeout(() => resolve({ lcpMs, cls }), settleMs)
      }),
    SETTLE_MS,
  )
  await page.close()
  return { name, bytes, ...seen }
}

test('every state of the checkout on a slow phone', async () => {
  // The first page of a browser starts what all the others use.
  await visit('first', server.show('first', { ...INVOICES_BY_PAGE.awaiting, id: 'inv_first' }))
  const visits: Visit[] = []
  for (const [name, invoice] of Object.entries(INVOICES_BY_PAGE))
    visits.push(await visit(name, server.show(name, { ...invoice, id: `inv_${name}` })))
  for (const one of visits) expect(one.lcpMs, one.name).toBeGreaterThan(LATENCY_MS)
  const worst = (of: (one: Visit) => number) => visits.toSorted((a, b) => of(b) - of(a))[0] ?? visits[0]
  const [largest, slowest, shifty] = [worst((v) => v.bytes), worst((v) => v.lcpMs), worst((v) => v.cls)]
  const conditions = `of ${visits.length} states, 390 px wide, 1.6 Mbit/s, 150 ms, 4× CPU`
  printFigure({
    name: 'Checkout page, all bytes over the wire, headers included, its largest state',
    target: '≤ 20 KB',
    measured: `${((largest?.bytes ?? 0) / 1024).toFixed(1)} KB`,
    detail: `${largest?.name}, ${conditions}`,
  })
  printFigure({
    name: 'Largest contentful paint of its slowest state',
    target: '< 1.0 s',
    measured: `${((slowest?.lcpMs ?? 0) / 1_000).toFixed(2)} s`,
    detail: `${slowest?.name}; median ${visits
      .map((v) => v.lcpMs)
      .sort((a, b) => a - b)
      [Math.floor(visits.length / 2)]?.toFixed(0)} ms, ${conditions}`,
  })
  printFigure({
    name: 'Cumulative layout shift, the worst state',
    target: '0',
    measured: (shifty?.cls ?? 0).toFixed(3),
    detail: `${shifty?.name}, ${conditions}`,
  })
})
