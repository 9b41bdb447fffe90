import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, makeDataDir, startApp } from '../support/app.ts'
import { type Body, invoicesOf } from '../support/app-invoices.ts'
import { launchBrowser } from '../support/browser.ts'
import { complaintsOf } from '../support/page-checks.ts'
import { readQr } from '../support/read-qr.ts'
import { until } from '../support/until.ts'

const PAID_AT_KILL = 6
const PAID_MS_MAX = 120_000
const ADDRESSES_MS_MAX = 120_000
const STORY_OF_A_PAYMENT = [
  'invoice.created',
  'invoice.payment_detected',
  'invoice.confirming',
  'invoice.paid',
]

let place: Awaited<ReturnType<typeof makeDataDir>>
let app: App
beforeAll(async () => {
  place = await makeDataDir()
  app = await startApp(place)
  // The signer issues its addresses a moment after the start.
  await until(() => isAvailable('SOL'), { what: 'SOL can be sold', timeoutMs: ADDRESSES_MS_MAX })
})
afterAll(async () => {
  await app.stop()
  await place.remove()
})

const { create, eventsOf, isAvailable, untilStatus, untilTold, pay } = invoicesOf(() => app)

test('a test payment in SOL is reported step by step and paid, and partial ones add up', async () => {
  const exact = await create('SOL')
  expect(exact.payment_uri).toBe(`solana:${exact.address}?amount=${exact.amount}`)
  expect((await pay(exact.id, 'exact')).status).toBe(200)
  const parts = await create('SOL')
  expect((await pay(parts.id, 'two_parts')).status).toBe(200)
  await untilStatus(exact.id, 'paid')
  expect(await eventsOf(exact.id)).toEqual(STORY_OF_A_PAYMENT)
  await untilStatus(parts.id, 'paid')
  expect(await eventsOf(parts.id)).toContain('invoice.partially_paid')
})

test('a checkout in SOL shows a Solana Pay link, also as a QR code, and is paid from the sandbox panel', {
  tags: ['chromium'],
}, async () => {
  const invoice = await create('SOL')
  const browser = await launchBrowser()
  try {
    const page = await (await browser.newContext()).newPage()
    const alerts = complaintsOf(page)
    await page.goto(String(invoice.checkout_url))
    const heading = () => page.locator('h1').textContent()
    expect(await heading()).toBe(`Send ${invoice.amount} SOL`)
    const link = `solana:${invoice.address}?amount=${invoice.amount}`
    expect(await page.locator('#open-wallet').getAttribute('href')).toBe(link)
    expect(await readQr(page, '.qr-payment')).toBe(link)
    await page.locator('label[for=qr-address]').click()
    expect(await readQr(page, '.qr-address')).toBe(invoice.address)
    await page.locator('#sandbox-exact').click()
    await expect.poll(heading, { timeout: PAID_MS_MAX }).toBe('Payment complete')
    expect(alerts).toEqual([])
  } finally {
    await browser.close()
  }
  expect(await untilStatus(invoice.id, 'paid')).toMatchObject({ amount_confirmed: invoice.amount })
})

test('a replaced payment leaves the invoice open', async () => {
  const replaced = await create('SOL')
  await pay(replaced.id, 'double_spend')
  await untilTold(replaced.id, 'invoice.confirming')
  await untilStatus(replaced.id, 'awaiting_payment')
})

test('a reorganisation moves a paid invoice to review; the payment’s return makes it paid, sent once', async () => {
  const reorganised = await create('SOL')
  await pay(reorganised.id, 'reorg')
  expect(await untilTold(reorganised.id, 'invoice.manual_review')).toMatchObject({ status_reason: 'reorged' })
  const again = await untilStatus(reorganised.id, 'paid')
  expect(again.payments).toMatchObject([{ status: 'confirmed' }])
  expect(await eventsOf(reorganised.id)).toEqual([...STORY_OF_A_PAYMENT, 'invoice.manual_review'])
})

test('the metrics show that SOL has addresses and that no batch of them was refused', async () => {
  const figures = await (await fetch(`${app.operatorUrl}/metrics`)).text()
  expect(figures).toContain('paylink_network_has_addresses{name="solana-test"} 1')
  expect(figures).toMatch(/^paylink_address_batches_refused 0$/m)
  expect(figures).toMatch(/^paylink_addresses_refused 0$/m)
})

test('the doctor finds nothing where a shop has SOL not paid out yet: the sandbox pays the fees', async () => {
  const doctor = await app.command('doctor')
  expect(doctor.stdout).toMatch(
    /✓ solana-test: the fee payer .* has 0 SOL for fees; the sandbox sends it some/,
  )
  expect(doctor).toMatchObject({ code: 0 })
})

/** In which blocks its payments are. */
const placesOf = ({ payments }: Body) =>
  (payments as Body[]).map(({ txid, block_hash, block_height }) => ({ txid, block_hash, block_height }))

test('after kill -9 in the middle of payments each is reported once, and the chain is the same', async () => {
  const invoices = []
  for (let count = 0; count < PAID_AT_KILL; count++) invoices.push(await create('SOL'))
  const earlier = await create('SOL')
  await pay(earlier.id, 'exact')
  const before = await untilStatus(earlier.id, 'paid')
  for (const { id } of invoices) expect((await pay(id, 'exact')).status).toBe(200)
  await app.kill()
  app = await startApp(place)
  for (const { id } of invoices) {
    await untilStatus(id, 'paid')
    expect(await eventsOf(id)).toEqual(STORY_OF_A_PAYMENT)
  }
  expect(placesOf(await untilStatus(earlier.id, 'paid'))).toEqual(placesOf(before))
}, 180_000)
