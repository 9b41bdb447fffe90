// @module-tag chromium
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { launchBrowser, photograph } from '../support/browser.ts'
import { until } from '../support/until.ts'
import { type Data, DONE_MS_MAX, openShop, type Shop } from './open-shop.ts'

/** The example shop of `packages/medusa`: the real engine from the registry (680 MB), with the plugin, selling in euros. */

let shop: Shop
let browser: Browser
let key: string
let regionId: string
let variantId: string
beforeAll(async () => {
  shop = await openShop({
    engine: 'medusa',
    installed: '@medusajs/medusa',
    program: 'example/shop.js',
    webhookPath: '/hooks/paylink',
    ready: 'Server is ready',
    // Medusa reports to its makers otherwise.
    env: { SHOP_SECRET: 'shop-secret', MEDUSA_DISABLE_TELEMETRY: 'true' },
  })
  key = /publishable key: (pk_[0-9a-f]+)/.exec(shop.log())?.[1] ?? ''
  regionId = (await store('GET', '/regions')).regions[0].id
  variantId = (await store('GET', '/products?fields=variants.id')).products[0].variants[0].id
})
afterAll(async () => {
  await browser?.close()
  await shop?.close()
})

/** A request of the storefront. */
async function store(method: string, path: string, body?: object): Promise<Data> {
  const answer = await fetch(`http://127.0.0.1:${shop.port}/store${path}`, {
    method,
    headers: { 'content-type': 'application/json', 'x-publishable-api-key': key },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return (await answer.json()) as Data
}

type Checkout = {
  readonly cartId: string
  readonly collectionId: string
  readonly invoiceId: string
  readonly url: string
}

async function openCart(): Promise<{ cartId: string; collectionId: string }> {
  const { cart } = await store('POST', '/carts', {
    region_id: regionId,
    email: 'buyer@example.com',
    items: [{ variant_id: variantId, quantity: 1 }],
  })
  const { payment_collection } = await store('POST', '/payment-collections', { cart_id: cart.id })
  return { cartId: cart.id, collectionId: payment_collection.id }
}

/** The buyer chooses to pay through Paylink, which opens the payment page. */
async function choosePaylink(cart: { cartId: string; collectionId: string }, data = {}): Promise<Checkout> {
  const answer = await store('POST', `/payment-collections/${cart.collectionId}/payment-sessions`, {
    provider_id: 'pp_paylink_paylink',
    data,
  })
  const session = answer.payment_collection?.payment_sessions?.[0]
  if (session === undefined) throw new Error(JSON.stringify(answer))
  return { ...cart, invoiceId: session.data.id, url: session.data.url }
}

/** The cart's order as the database has it: the payment and what was captured of it. */
async function orderOf({ cartId }: { cartId: string }): Promise<Data | null> {
  const { rows } = await shop.database.owner.query(
    `select o.order_id, p.amount::text, p.captured_at, p.data->>'id' as invoice_id,
       (select count(*)::int from capture c where c.payment_id = p.id) as captures
     from order_cart o
     join cart_payment_collection cp on cp.cart_id = o.cart_id
     join payment p on p.payment_collection_id = cp.payment_collection_id
     where o.cart_id = $1`,
    [cartId],
  )
  if (rows.length > 1) throw new Error(`${rows.length} payments of one cart`)
  return rows[0] ?? null
}
const isSold = (cart: { cartId: string }) => async () => (await orderOf(cart))?.captures === 1

let cart: { cartId: string; collectionId: string }
beforeEach(async () => {
  cart = await openCart()
})

test('a buyer buys on the page of the shop, pays, and comes back to a paid order', async () => {
  browser = await launchBrowser()
  const page = await browser.newPage({ viewport: { width: 390, height: 844 }, locale: 'en' })
  const shopUrl = `http://localhost:${shop.port}/shop`
  await page.goto(shopUrl)
  await page.getByLabel('Your email').fill('buyer@example.com')
  await photograph(page, 'medusa-shop')
  await page.getByRole('button', { name: 'Buy with crypto' }).click()
  await page.waitForURL('**/i/*')
  await page.getByText('€49.99').first().waitFor()
  await photograph(page, 'medusa-checkout')
  const { body } = await shop.app.api('GET', '/api/v1/invoices?limit=1')
  await shop.pay((body as Data).data[0].id, 'exact')
  await page.getByRole('link', { name: /^Back to / }).click()
  await page.waitForURL(shopUrl)
  await page.getByText('Paid. Thank you').waitFor()
  await page.getByRole('heading', { name: /^Order \d+$/ }).waitFor()
  await page.getByText('€49.99').waitFor()
  await photograph(page, 'medusa-paid')
  await page.close()
})

test('a cart in euros becomes one paid order when its invoice is paid', async () => {
  const checkout = await choosePaylink(cart)
  expect(await shop.invoice(checkout.invoiceId)).toMatchObject({
    price: { amount: '49.99', currency: 'EUR' },
  })
  expect(await (await fetch(checkout.url)).text()).toContain('49.99')
  await shop.pay(checkout.invoiceId, 'exact')
  await until(isSold(cart), { timeoutMs: DONE_MS_MAX })
  expect(await orderOf(cart)).toMatchObject({ amount: '49.99', invoice_id: checkout.invoiceId })
})

test('a total with more decimals than its currency is rounded, and makes a paid order', async () => {
  for (const [total, asked] of [
    ['10.8875', '10.89'],
    ['10.8849', '10.88'],
  ] as const) {
    const { cartId } = await openCart()
    await shop.database.owner.query(
      `update cart_line_item set unit_price = $2::numeric,
         raw_unit_price = jsonb_build_object('value', $2::text, 'precision', 20)
       where cart_id = $1`,
      [cartId, total],
    )
    await store('POST', `/carts/${cartId}`, { email: 'other@example.com' })
    const { payment_collection } = await store('POST', '/payment-collections', { cart_id: cartId })
    const checkout = await choosePaylink({ cartId, collectionId: payment_collection.id })
    expect(await shop.invoice(checkout.invoiceId)).toMatchObject({ price: { amount: asked } })
    await shop.pay(checkout.invoiceId, 'exact')
    await until(isSold(checkout), { timeoutMs: DONE_MS_MAX })
    const { rows } = await shop.database.owner.query('select status from payment_collection where id = $1', [
      payment_collection.id,
    ])
    expect(rows).toEqual([{ status: 'completed' }])
  }
})

test('two presses at once leave nothing open once the order is paid, whichever invoice is', async () => {
  for (const paid of [0, -1]) {
    const pressed = await openCart()
    await Promise.all([choosePaylink(pressed), choosePaylink(pressed)])
    const { rows } = await shop.database.owner.query(
      `select data->>'id' as id from payment_session where payment_collection_id = $1 order by id`,
      [pressed.collectionId],
    )
    const invoices: string[] = rows.map(({ id }: Data) => id)
    await shop.pay(invoices.at(paid) ?? '', 'exact')
    await until(isSold(pressed), { timeoutMs: DONE_MS_MAX })
    const statuses = await Promise.all(invoices.map(shop.status))
    expect(statuses.filter((status) => status === 'awaiting_payment')).toEqual([])
  }
})

test('no buyer makes an order without a payment, nor with the payment of another', async () => {
  const paid = await choosePaylink(await openCart())
  await shop.pay(paid.invoiceId, 'exact')
  await until(isSold(paid), { timeoutMs: DONE_MS_MAX })
  const mine = await choosePaylink(cart, { id: paid.invoiceId, session_id: 'payses_other' })
  expect(mine.invoiceId).not.toBe(paid.invoiceId)
  const completed = await store('POST', `/carts/${cart.cartId}/complete`)
  expect(completed.type, JSON.stringify(completed)).not.toBe('order')
  const forged = await fetch(`http://127.0.0.1:${shop.port}/hooks/paylink`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'paylink-signature': `t=1,v1=${'0'.repeat(64)}` },
    body: JSON.stringify({ schema_version: 1, event_type: 'invoice.paid', data: { id: mine.invoiceId } }),
  })
  expect(forged.status).toBe(400)
  expect(await orderOf(cart)).toBeNull()
})

test('too little makes no order, and what the merchant accepts does', async () => {
  for (const scenario of ['under', 'over'] as const) {
    const checkout = await choosePaylink(await openCart())
    await shop.pay(checkout.invoiceId, scenario)
    const status = scenario === 'under' ? 'partially_paid' : 'overpaid'
    await until(async () => (await shop.status(checkout.invoiceId)) === status, { timeoutMs: DONE_MS_MAX })
    expect(await orderOf(checkout)).toBeNull()
    await shop.app.api('POST', `/api/v1/invoices/${checkout.invoiceId}/resolve`, { resolution: 'accept' })
    await until(isSold(checkout), { timeoutMs: DONE_MS_MAX })
  }
})

test('a late payment makes the order', async () => {
  const checkout = await choosePaylink(cart)
  await shop.pay(checkout.invoiceId, 'late')
  await until(isSold(cart), { timeoutMs: DONE_MS_MAX })
})

test('a cart that changes cancels its invoice, and the next one asks for the whole', async () => {
  const first = await choosePaylink(cart)
  await store('POST', `/carts/${cart.cartId}/line-items`, { variant_id: variantId, quantity: 1 })
  expect(await shop.status(first.invoiceId)).toBe('cancelled')
  const second = await choosePaylink(cart)
  expect(await shop.invoice(second.invoiceId)).toMatchObject({ price: { amount: '99.98', currency: 'EUR' } })
  await shop.pay(second.invoiceId, 'exact')
  await until(isSold(cart), { timeoutMs: DONE_MS_MAX })
  expect(await orderOf(cart)).toMatchObject({ amount: '99.98' })
})

test('a cart does not change while money for it is on its way', async () => {
  const checkout = await choosePaylink(cart)
  await shop.pay(checkout.invoiceId, 'under')
  await until(async () => (await shop.status(checkout.invoiceId)) === 'partially_paid', {
    timeoutMs: DONE_MS_MAX,
  })
  const answer = await store('POST', `/carts/${cart.cartId}/line-items`, {
    variant_id: variantId,
    quantity: 1,
  })
  // Medusa's own words; its log has the plugin's.
  expect(answer.message).toBe('Could not delete all payment sessions')
  expect(shop.log()).toContain('A payment for this cart is under way')
  await shop.app.api('POST', `/api/v1/invoices/${checkout.invoiceId}/resolve`, { resolution: 'accept' })
  await until(isSold(cart), { timeoutMs: DONE_MS_MAX })
  expect(await orderOf(cart)).toMatchObject({ amount: '49.99' })
})

test('events that were lost while the shop was down, and events sent again, make one order', async () => {
  const checkout = await choosePaylink(cart)
  await shop.down()
  await shop.pay(checkout.invoiceId, 'exact')
  await until(async () => (await shop.status(checkout.invoiceId)) === 'paid', { timeoutMs: DONE_MS_MAX })
  await shop.up()
  const { again, delivered } = await shop.sendPaidAgain(checkout.invoiceId)
  await Promise.all([again(), again(), again()])
  await until(isSold(cart), { timeoutMs: DONE_MS_MAX })
  await again()
  await until(async () => (await delivered()) >= 2, { timeoutMs: DONE_MS_MAX })
  expect(await orderOf(cart)).toMatchObject({ captures: 1 })
})
