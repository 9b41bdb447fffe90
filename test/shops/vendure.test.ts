// @module-tag chromium
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { launchBrowser, photograph } from '../support/browser.ts'
import { until } from '../support/until.ts'
import { type Data, DONE_MS_MAX, openShop, type Shop } from './open-shop.ts'

/** The example shop of `packages/vendure`: the real engine from the registry, with the plugin, selling in euros. */

const PASSWORD = 'shop-password'
const TEA_SET_CENTS = 4_999

let shop: Shop
let browser: Browser
beforeAll(async () => {
  shop = await openShop({
    engine: 'vendure',
    installed: '@vendure/core',
    program: 'example/shop.mjs',
    webhookPath: '/payments/paylink',
    ready: 'the shop is at',
    // Vendure reports to its makers otherwise.
    env: { ADMIN_PASSWORD: PASSWORD, VENDURE_DISABLE_TELEMETRY: 'true' },
  })
})
afterAll(async () => {
  await browser?.close()
  await shop?.close()
})

type Ask = (query: string, variables?: object) => Promise<Data>

/** Requests of one person, who has a session of their own. */
function clientOf(path: string): Ask {
  let token = ''
  return async (query, variables = {}) => {
    const answer = await fetch(`http://127.0.0.1:${shop.port}/${path}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
      },
      body: JSON.stringify({ query, variables }),
    })
    token ||= answer.headers.get('vendure-auth-token') ?? ''
    const { data, errors } = (await answer.json()) as Data
    if (errors !== undefined) throw new Error(JSON.stringify(errors))
    return data
  }
}

const RESULT = '__typename ... on ErrorResult { errorCode message }'

/** A buyer with a tea set in the cart, ready to pay. */
async function fillCart(buyer: Ask): Promise<string> {
  const { products } = await buyer('{ products { items { variants { id } } } }')
  await addToCart(buyer, products.items[0].variants[0].id)
  await buyer(`mutation {
    setCustomerForOrder(input: { firstName: "A", lastName: "B", emailAddress: "buyer@example.com" }) { ${RESULT} }
    setOrderShippingAddress(input: { streetLine1: "Street 1", countryCode: "NL" }) { ${RESULT} }
  }`)
  const { eligibleShippingMethods } = await buyer('{ eligibleShippingMethods { id } }')
  await buyer(`mutation ($id: [ID!]!) { setOrderShippingMethod(shippingMethodId: $id) { ${RESULT} } }`, {
    id: [eligibleShippingMethods[0].id],
  })
  await moveTo(buyer, 'ArrangingPayment')
  const { activeOrder } = await buyer('{ activeOrder { code totalWithTax currencyCode } }')
  return activeOrder.code
}

const addToCart = (buyer: Ask, id: string) =>
  buyer(`mutation ($id: ID!) { addItemToOrder(productVariantId: $id, quantity: 1) { ${RESULT} } }`, { id })
const moveTo = (buyer: Ask, state: string) =>
  buyer(`mutation ($state: String!) { transitionOrderToState(state: $state) { ${RESULT} } }`, { state })

async function pressPay(buyer: Ask): Promise<Data> {
  const { createPaylinkCheckout } = await buyer(
    `mutation { createPaylinkCheckout { ... on PaylinkCheckout { url invoiceId } ${RESULT} } }`,
  )
  return createPaylinkCheckout
}

/** As the shop's people see it: Vendure shows a guest's order by its code only once it is placed. */
async function orderOf(code: string): Promise<Data> {
  const { orders } = await admin(
    `query ($code: String!) {
      orders(options: { filter: { code: { eq: $code } } }) {
        items {
          id state totalWithTax currencyCode
          payments { id state amount transactionId }
          history { items { type data } }
        }
      }
    }`,
    { code },
  )
  return orders.items[0]
}
const isPaid = (code: string) => async () => (await orderOf(code)).state === 'PaymentSettled'
/** What stands in the order's history for the shop's people. */
const notesOf = async (code: string): Promise<string[]> =>
  (await orderOf(code)).history.items
    .filter(({ type }: Data) => type === 'ORDER_NOTE')
    .map(({ data }: Data) => data.note)

let admin: Ask
let buyer: Ask
beforeEach(async () => {
  buyer = clientOf('shop-api')
  admin = clientOf('admin-api')
  await admin(
    'mutation ($password: String!) { login(username: "admin", password: $password) { __typename } }',
    {
      password: PASSWORD,
    },
  )
})

test('a buyer buys on the page of the shop, pays, and comes back to a paid order', async () => {
  browser = await launchBrowser()
  const page = await browser.newPage({ viewport: { width: 390, height: 844 }, locale: 'en' })
  const shopUrl = `http://localhost:${shop.port}/shop`
  await page.goto(shopUrl)
  await page.getByLabel('Your email').fill('buyer@example.com')
  await photograph(page, 'vendure-shop')
  await page.getByRole('button', { name: 'Buy with crypto' }).click()
  await page.waitForURL('**/i/*')
  await page.getByText('€49.99').first().waitFor()
  await photograph(page, 'vendure-checkout')
  const [order = ''] = /[A-Z0-9]{16}/.exec(await page.locator('body').innerText()) ?? []
  const { body } = await shop.app.api('GET', `/api/v1/invoices?external_reference=${order}`)
  await shop.pay((body as Data).data[0].id, 'exact')
  await page.getByRole('link', { name: /^Back to / }).click()
  await page.waitForURL(`${shopUrl}?order=${order}`)
  await page.getByText('Paid. Thank you').waitFor()
  await photograph(page, 'vendure-paid')
  await page.close()
})

test('an order in euros is paid once, however often its buyer presses', async () => {
  const code = await fillCart(buyer)
  const pressed = await Promise.all([pressPay(buyer), pressPay(buyer), pressPay(buyer)])
  pressed.push(await pressPay(buyer))
  const [{ invoiceId, url } = {}] = pressed
  expect(new Set(pressed.map((one) => one.invoiceId)), JSON.stringify(pressed)).toEqual(new Set([invoiceId]))
  expect(await shop.invoice(invoiceId)).toMatchObject({
    external_reference: code,
    price: { amount: '49.99', currency: 'EUR' },
    customer_email: 'buyer@example.com',
  })
  expect(await (await fetch(url)).text()).toContain('49.99')

  await shop.pay(invoiceId, 'exact')
  await until(isPaid(code), { timeoutMs: DONE_MS_MAX })
  const order = await orderOf(code)
  expect(order).toMatchObject({ totalWithTax: TEA_SET_CENTS, currencyCode: 'EUR' })
  expect(order.payments).toEqual([
    { id: expect.any(String), state: 'Settled', amount: TEA_SET_CENTS, transactionId: invoiceId },
  ])

  // A refund waits until the shop has sent it by hand, and is settled with its transaction.
  const { refundOrder } = await admin(
    `mutation ($id: ID!) {
      refundOrder(input: { paymentId: $id, lines: [], shipping: 0, adjustment: 0, amount: 100, reason: "" }) {
        __typename ... on Refund { id state }
      }
    }`,
    { id: order.payments[0].id },
  )
  expect(refundOrder).toMatchObject({ state: 'Pending' })
  const { settleRefund } = await admin(
    `mutation ($id: ID!) {
      settleRefund(input: { id: $id, transactionId: "sent-by-hand" }) {
        __typename ... on Refund { state transactionId }
      }
    }`,
    { id: refundOrder.id },
  )
  expect(settleRefund).toMatchObject({ state: 'Settled', transactionId: 'sent-by-hand' })
})

test('a buyer can add no payment, and a webhook without a signature moves nothing', async () => {
  const code = await fillCart(buyer)
  const { invoiceId } = await pressPay(buyer)
  const { addPaymentToOrder } = await buyer(
    `mutation ($metadata: JSON!) { addPaymentToOrder(input: { method: "crypto", metadata: $metadata }) { ${RESULT} } }`,
    { metadata: { invoiceId } },
  )
  expect(addPaymentToOrder).toMatchObject({ errorCode: 'PAYMENT_FAILED_ERROR' })
  const forged = await fetch(`http://127.0.0.1:${shop.port}/payments/paylink`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'paylink-signature': `t=1,v1=${'0'.repeat(64)}` },
    body: JSON.stringify({ schema_version: 1, event_type: 'invoice.paid', data: { id: invoiceId } }),
  })
  expect(forged.status).toBe(400)
  expect(await orderOf(code)).toMatchObject({ state: 'ArrangingPayment' })
})

test('what came short or over is noted for a person, and leads to no second invoice', async () => {
  for (const [scenario, status] of [
    ['under', 'partially_paid'],
    ['over', 'overpaid'],
  ] as const) {
    const one = clientOf('shop-api')
    const code = await fillCart(one)
    const { invoiceId } = await pressPay(one)
    await shop.pay(invoiceId, scenario)
    await until(async () => (await notesOf(code)).length > 0, { timeoutMs: DONE_MS_MAX })
    expect((await notesOf(code))[0]).toContain(`${invoiceId} is ${status}`)
    expect(await orderOf(code)).toMatchObject({ state: 'ArrangingPayment', payments: [] })
    expect(await pressPay(one)).toMatchObject({ invoiceId })
    // What the merchant accepts is paid.
    const accepted = await shop.app.api('POST', `/api/v1/invoices/${invoiceId}/resolve`, {
      resolution: 'accept',
    })
    expect(accepted.status, JSON.stringify(accepted.body)).toBe(200)
    await until(isPaid(code), { timeoutMs: DONE_MS_MAX })
  }
})

test('a late payment is booked, and what the buyer opened meanwhile is closed', async () => {
  const code = await fillCart(buyer)
  const first = await pressPay(buyer)
  await shop.pay(first.invoiceId, 'late')
  await until(async () => (await shop.status(first.invoiceId)) !== 'awaiting_payment', {
    timeoutMs: DONE_MS_MAX,
  })
  await pressPay(buyer)
  await until(isPaid(code), { timeoutMs: DONE_MS_MAX })
  const { body } = await shop.app.api('GET', `/api/v1/invoices?external_reference=${code}`)
  await until(
    async () => {
      const ids: string[] = (body as Data).data.map(({ id }: Data) => id)
      const open = await Promise.all(ids.map(shop.status))
      return !open.includes('awaiting_payment')
    },
    { timeoutMs: DONE_MS_MAX },
  )
  expect((await orderOf(code)).payments).toHaveLength(1)
})

test('another total cancels the open invoice, and the new one asks for the whole', async () => {
  const code = await fillCart(buyer)
  const first = await pressPay(buyer)
  await moveTo(buyer, 'AddingItems')
  const { products } = await buyer('{ products { items { variants { id } } } }')
  await addToCart(buyer, products.items[0].variants[0].id)
  await moveTo(buyer, 'ArrangingPayment')
  const second = await pressPay(buyer)
  expect(await shop.status(first.invoiceId)).toBe('cancelled')
  expect(await shop.invoice(second.invoiceId)).toMatchObject({ price: { amount: '94.98', currency: 'EUR' } })
  await shop.pay(second.invoiceId, 'exact')
  await until(isPaid(code), { timeoutMs: DONE_MS_MAX })
})

test('an order that was changed while its invoice was paid takes the money, and asks for the rest', async () => {
  const code = await fillCart(buyer)
  const first = await pressPay(buyer)
  await moveTo(buyer, 'AddingItems')
  const { products } = await buyer('{ products { items { variants { id } } } }')
  await addToCart(buyer, products.items[0].variants[0].id)
  await shop.pay(first.invoiceId, 'exact')
  await until(async () => (await orderOf(code)).payments.length === 1, { timeoutMs: DONE_MS_MAX })
  expect(await orderOf(code)).toMatchObject({ state: 'ArrangingPayment' })
  const rest = await pressPay(buyer)
  expect(await shop.invoice(rest.invoiceId)).toMatchObject({ price: { amount: '44.99', currency: 'EUR' } })
  await shop.pay(rest.invoiceId, 'exact')
  await until(isPaid(code), { timeoutMs: DONE_MS_MAX })
})

test('money for an order that was cancelled meanwhile is noted, once', async () => {
  const code = await fillCart(buyer)
  const { invoiceId } = await pressPay(buyer)
  await moveTo(buyer, 'Cancelled')
  await shop.pay(invoiceId, 'exact')
  await until(async () => (await notesOf(code)).length > 0, { timeoutMs: DONE_MS_MAX })
  expect(await notesOf(code)).toEqual([expect.stringContaining(`Paid by ${invoiceId}, but not booked`)])
})

test('money in a currency that the order no longer has is noted, until it is booked, be it by hand', async () => {
  for (const by of ['event', 'hand']) {
    const one = clientOf('shop-api')
    const code = await fillCart(one)
    const { invoiceId } = await pressPay(one)
    const setCurrency = (currency: string) =>
      shop.database.owner.query(`update "order" set "currencyCode" = $2 where code = $1`, [code, currency])
    await setCurrency('USD')
    await shop.pay(invoiceId, 'exact')
    await until(async () => (await notesOf(code)).length > 0, { timeoutMs: DONE_MS_MAX })
    expect(await notesOf(code)).toEqual([expect.stringContaining(`Paid by ${invoiceId}, but not booked`)])
    expect(await orderOf(code)).toMatchObject({
      state: 'ArrangingPayment',
      payments: [{ state: 'Error', transactionId: invoiceId }],
    })
    await setCurrency('EUR')
    if (by === 'event') await (await shop.sendPaidAgain(invoiceId)).again()
    else
      await admin(
        `mutation ($input: ManualPaymentInput!) { addManualPaymentToOrder(input: $input) { ${RESULT} } }`,
        {
          input: {
            orderId: (await orderOf(code)).id,
            method: 'crypto',
            transactionId: invoiceId,
            metadata: {},
          },
        },
      )
    await until(isPaid(code), { timeoutMs: DONE_MS_MAX })
    await until(async () => (await notesOf(code))[0] === `Paid by ${invoiceId}, and booked.`, {
      timeoutMs: DONE_MS_MAX,
    })
    expect(await notesOf(code)).toHaveLength(1)
  }
})

test('events that were lost while the shop was down, and events sent again, book once', async () => {
  const code = await fillCart(buyer)
  const { invoiceId } = await pressPay(buyer)
  await shop.down()
  await shop.pay(invoiceId, 'exact')
  await until(async () => (await shop.status(invoiceId)) === 'paid', { timeoutMs: DONE_MS_MAX })
  await shop.up()
  const { again, delivered } = await shop.sendPaidAgain(invoiceId)
  await Promise.all([again(), again(), again()])
  await until(isPaid(code), { timeoutMs: DONE_MS_MAX })
  await again()
  await until(async () => (await delivered()) >= 2, { timeoutMs: DONE_MS_MAX })
  expect((await orderOf(code)).payments).toHaveLength(1)
})

test('invoices of another shop with the same order code pay nothing here, and stay as they are', async () => {
  const code = await fillCart(buyer)
  const [paid, open] = await Promise.all(
    ['1.00', '2.00'].map(async (amount) => {
      const { body } = await shop.app.api('POST', '/api/v1/invoices', {
        price: { amount, currency: 'EUR' },
        external_reference: code,
        allow_asset_selection: true,
        metadata: { vendure_channel: 'another-shop' },
      })
      return (body as Data).id as string
    }),
  )
  await shop.pay(paid ?? '', 'exact')
  await until(async () => (await shop.status(paid ?? '')) === 'paid', { timeoutMs: DONE_MS_MAX })
  const { delivered } = await shop.sendPaidAgain(paid ?? '')
  await until(async () => (await delivered()) > 0, { timeoutMs: DONE_MS_MAX })
  expect(await orderOf(code)).toMatchObject({ state: 'ArrangingPayment', payments: [] })
  const { invoiceId } = await pressPay(buyer)
  expect([paid, open]).not.toContain(invoiceId)
  await shop.pay(invoiceId, 'exact')
  await until(isPaid(code), { timeoutMs: DONE_MS_MAX })
  expect(await shop.status(open ?? '')).toBe('awaiting_payment')
})

test('what another method has authorised is not asked for', async () => {
  const code = await fillCart(buyer)
  await shop.database.owner.query(
    `insert into payment (method, amount, state, metadata, "transactionId", "orderId")
     select 'card', 2000, 'Authorized', '{}', 'card-1', id from "order" where code = $1`,
    [code],
  )
  const { invoiceId } = await pressPay(buyer)
  expect(await shop.invoice(invoiceId)).toMatchObject({ price: { amount: '29.99', currency: 'EUR' } })
})

test('an order that something else pays closes its invoice', async () => {
  const code = await fillCart(buyer)
  const { invoiceId } = await pressPay(buyer)
  const { orders } = await admin(
    'query ($code: String!) { orders(options: { filter: { code: { eq: $code } } }) { items { id } } }',
    { code },
  )
  await admin(
    `mutation ($id: ID!) {
      addManualPaymentToOrder(input: { orderId: $id, method: "cash", transactionId: "1", metadata: {} }) {
        __typename
      }
    }`,
    { id: orders.items[0].id },
  )
  await until(async () => (await shop.status(invoiceId)) === 'cancelled', { timeoutMs: DONE_MS_MAX })
  expect(await orderOf(code)).toMatchObject({ state: 'PaymentSettled' })
})

test('an order in another currency than its channel keeps it where its coupon runs out meanwhile', async () => {
  const { activeChannel } = await admin('{ activeChannel { id } }')
  await admin(
    `mutation ($id: ID!) {
      updateChannel(input: { id: $id, availableCurrencyCodes: [EUR, USD] }) { __typename }
      updateProductVariants(input: [{ id: "1", prices: [
        { currencyCode: EUR, price: 4499 }, { currencyCode: USD, price: 5499 }
      ] }]) { id }
    }`,
    { id: activeChannel.id },
  )
  const { createPromotion } = await admin(`mutation {
    createPromotion(input: {
      enabled: true, couponCode: "TEN", conditions: [],
      actions: [{ code: "order_fixed_discount", arguments: [{ name: "discount", value: "1000" }] }],
      translations: [{ languageCode: en, name: "Ten off" }]
    }) { ... on Promotion { id } }
  }`)
  const inDollars = clientOf('shop-api?currencyCode=USD')
  const code = await fillCart(inDollars)
  await moveTo(inDollars, 'AddingItems')
  await inDollars(`mutation { applyCouponCode(couponCode: "TEN") { ${RESULT} } }`)
  await moveTo(inDollars, 'ArrangingPayment')
  const { invoiceId } = await pressPay(inDollars)
  expect(await shop.invoice(invoiceId)).toMatchObject({ usd_amount: '49.99' })
  await admin('mutation ($id: ID!) { updatePromotion(input: { id: $id, enabled: false }) { __typename } }', {
    id: createPromotion.id,
  })
  await shop.pay(invoiceId, 'exact')
  await until(async () => (await orderOf(code)).payments.length === 1, { timeoutMs: DONE_MS_MAX })
  expect(await orderOf(code)).toMatchObject({
    currencyCode: 'USD',
    totalWithTax: 5_999,
    payments: [{ state: 'Settled', amount: 4_999 }],
  })
  const rest = await pressPay(inDollars)
  expect(await shop.invoice(rest.invoiceId)).toMatchObject({ usd_amount: '10.00' })
  await shop.pay(rest.invoiceId, 'exact')
  await until(isPaid(code), { timeoutMs: DONE_MS_MAX })
})

test('a total that its currency has no coins for is rounded up, and pays the order', async () => {
  const code = await fillCart(buyer)
  await shop.database.owner.query(
    `update "order" set "currencyCode" = 'JPY', "subTotalWithTax" = 449949 where code = $1`,
    [code],
  )
  const { invoiceId } = await pressPay(buyer)
  expect(await shop.invoice(invoiceId)).toMatchObject({ price: { amount: '4505', currency: 'JPY' } })
  expect(await pressPay(buyer)).toMatchObject({ invoiceId })
  await shop.pay(invoiceId, 'exact')
  await until(isPaid(code), { timeoutMs: DONE_MS_MAX })
  expect(await orderOf(code)).toMatchObject({ totalWithTax: 450_449, payments: [{ amount: 450_500 }] })
})
