import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { EVENT_FORMATS } from '../../src/compat/event-formats.ts'
import { storePaymentRules } from '../../src/db/invoices/payment-rules.ts'
import { type HttpServer, startHttpServer } from '../../src/http/server.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { openCompat } from '../../src/roles/compat.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { freePort } from '../support/free-port.ts'
import { recordPayment } from './record-payment.ts'

/**
 * The calls of BTCPay's plugins, in their order and with their fields, written down from the plugins' public sources
 * (docs/coming-from-elsewhere.md names them).
 */

let api: TestApi
let server: HttpServer
let url: string
let merchant: TestMerchant
/** What a shop's owner types as the server's address. */
let base: string
beforeAll(async () => {
  api = await createTestApi({ webhookFormats: { known: EVENT_FORMATS, offered: ['btcpay'] } })
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  const own = { name: 'api', owns: () => true, fetch: (request: Request) => api.app.fetch(request) }
  const parts = [...openCompat(api.deps, ['btcpay'], own), own]
  server = await startHttpServer({ host: '127.0.0.1', port, parts, log: api.deps.log })
})
beforeEach(async () => {
  merchant = await api.addMerchant()
  for (const livemode of [true, false]) {
    const tenant = { merchantId: merchant.id, livemode }
    const rules = { document: { default_asset: 'LTC' }, now: api.time.now }
    await withTransaction(api.deps.pool, tenant, (tx) => storePaymentRules(tx, tenant, rules))
  }
  base = `${url}/compat/btcpay/${merchant.id}`
})
afterAll(async () => {
  await server.stop(() => {})
  await api.drop()
})

// biome-ignore lint/suspicious/noExplicitAny: what a test reads of an answer, it compares.
type Answer = { readonly status: number; readonly body: any }
type Shop = (method: string, path: string, body?: object) => Promise<Answer>

/** As BTCPay's PHP library sends a request. */
const shopWith =
  (key: string): Shop =>
  async (method, path, body) => {
    const answer = await fetch(`${base}/api/v1${path}`, {
      method,
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        authorization: `token ${key}`,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, body: text === '' ? null : JSON.parse(text) }
  }
const store = (path = '') => `/stores/${merchant.id}${path}`
/** `InvoiceCheckoutOptions::toArray`: every option, those that are not set as null. */
const checkoutOptions = (set: object) => ({
  speedPolicy: null,
  paymentMethods: null,
  expirationMinutes: null,
  monitoringMinutes: null,
  paymentTolerance: null,
  redirectURL: null,
  redirectAutomatically: null,
  defaultLanguage: null,
  requiresRefundEmail: null,
  ...set,
})
const EVENTS = [
  'InvoiceReceivedPayment',
  'InvoicePaymentSettled',
  'InvoiceProcessing',
  'InvoiceExpired',
  'InvoiceSettled',
  'InvoiceInvalid',
]
/** `Webhook::createWebhook`. */
const webhook = (events: readonly string[] | null, secret: string | null) => ({
  enabled: true,
  automaticRedelivery: true,
  url: 'https://shop.example/btcpay/webhook',
  authorizedEvents: events === null ? { everything: true } : { everything: false, specificEvents: events },
  ...(secret === null ? {} : { secret }),
})
/** Whether the plugin finds exactly the rights that it asks for, as its own check compares them. */
function permissionsOf({ body }: Answer): string[] {
  const parts = (body.permissions as string[]).map((one) => one.split(':'))
  expect(new Set(parts.map(([, storeId]) => storeId))).toEqual(new Set([merchant.id]))
  return parts.map(([name]) => name ?? '').sort()
}

/** The five scopes of a key for WooCommerce; for PrestaShop `payment_links:write` too. */
const SCOPES = ['invoices:read', 'invoices:write', 'webhooks:read', 'webhooks:write'] as const

describe('WooCommerce', () => {
  const REQUIRED = [
    'btcpay.store.cancreateinvoice',
    'btcpay.store.canmodifyinvoices',
    'btcpay.store.canviewinvoices',
    'btcpay.store.canviewstoresettings',
    'btcpay.store.webhooks.canmodifywebhooks',
  ]
  const order = (total = '49.99') => ({
    amount: total,
    currency: 'USD',
    metadata: {
      buyerEmail: 'buyer@example.com',
      buyerName: 'B. Uyer',
      taxIncluded: '0',
      posData: { WooCommerce: { 'Order ID': 7, 'Order Number': '1007', 'Plugin Version': '2.7.0' } },
      orderId: '1007',
    },
    checkout: checkoutOptions({
      redirectURL: 'https://shop.example/checkout/order-received/7/?key=wc_order_x',
      paymentMethods: ['LTC_CHAIN', 'BTC_CHAIN', 'ETH_CHAIN', 'SOL_CHAIN', 'USDC_CHAIN'],
    }),
  })

  test('saves its settings, takes an order, leads it back to its invoice and reads its payments', async () => {
    const shop = shopWith((await api.addKey(merchant.id, false, SCOPES)).key)
    const current = await shop('GET', '/api-keys/current')
    expect(permissionsOf(current)).toEqual(REQUIRED)
    const info = await shop('GET', '/server/info')
    expect(info.body).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+\.\d+$/), fullySynched: true })
    const hook = await shop('POST', store('/webhooks'), webhook(EVENTS, null))
    expect(hook).toMatchObject({ status: 200, body: { secret: expect.stringMatching(/^whsec_/) } })
    const known = await shop('GET', store(`/webhooks/${hook.body.id}`))
    expect(known.body).toMatchObject({ id: hook.body.id, url: 'https://shop.example/btcpay/webhook' })
    const methods = await shop('GET', store('/payment-methods'))
    expect(Object.keys(methods.body)).toEqual([
      'LTC-CHAIN',
      'BTC-CHAIN',
      'ETH-CHAIN',
      'SOL-CHAIN',
      'USDC-CHAIN',
    ])
    expect(methods.body['BTC-CHAIN']).toEqual({
      paymentMethodId: 'BTC-CHAIN',
      cryptoCode: 'BTC',
      enabled: true,
      data: {},
      config: {},
    })

    const made = await shop('POST', store('/invoices'), order())
    expect(made).toMatchObject({ status: 200, body: { amount: '49.99', currency: 'USD', status: 'New' } })
    const again = await shop('GET', store(`/invoices/${made.body.id}`))
    expect(again.body.status).toBe('New')
    // The buyer presses Pay a second time: the plugin knows the id alone.
    const led = await fetch(`${base}/i/${made.body.id}`, { redirect: 'manual' })
    expect([led.status, led.headers.get('location')]).toEqual([302, made.body.checkoutLink])
    expect(led.headers.get('cache-control')).toBe('no-store')
    await recordPayment(api, merchant, made.body.id, 'final', 100n)
    expect((await shop('GET', store(`/invoices/${made.body.id}`))).body.status).toBe('Settled')
    const paid = await shop('GET', store(`/invoices/${made.body.id}/payment-methods`))
    const [method] = paid.body
    expect(Number(method.paymentMethodPaid)).toBeGreaterThan(0)
    expect(method.payments).toMatchObject([{ status: 'Settled', value: method.totalPaid }])
  })

  test('gives up an invoice whose buyer chose another way to pay', async () => {
    const shop = shopWith(merchant.testKey)
    const made = await shop('POST', store('/invoices'), order())
    const marked = await shop('POST', store(`/invoices/${made.body.id}/status`), { status: 'Invalid' })
    expect(marked.body.status).toBe('Invalid')
  })

  test('is refused a refund, and does not see the permission for one', async () => {
    const shop = shopWith(merchant.testKey)
    const held = permissionsOf(await shop('GET', '/api-keys/current'))
    expect(held).not.toContain('btcpay.store.cancreatenonapprovedpullpayments')
    const refund = { name: 'Refund of order 1007', amount: '49.99', currency: 'USD', paymentMethods: ['BTC'] }
    expect(await shop('POST', store('/pull-payments'), refund)).toEqual({
      status: 422,
      body: { code: 'refunds-not-supported', message: expect.stringContaining('sends no refunds') },
    })
  })

  test('opens the buyer’s page in place of a frame over the checkout', async () => {
    const script = await fetch(`${base}/modal/btcpay.js?ver=2.7.0`)
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    const went: string[] = []
    const window = { location: { assign: (to: string) => went.push(to) } } as {
      location: object
      // biome-ignore lint/suspicious/noExplicitAny: the script's own, used as the plugin uses it.
      btcpay?: any
    }
    const document = {
      currentScript: { src: 'https://pay.example/compat/btcpay/mer_x/modal/btcpay.js?ver=2' },
    }
    runInNewContext(await script.text(), { window, document })
    window.btcpay.showInvoice('inv_1')
    window.btcpay.setApiUrlPrefix('https://pay.example/compat/btcpay/mer_y/')
    window.btcpay.onModalReceiveMessage(() => {})
    window.btcpay.showInvoice('inv_2')
    expect(went).toEqual([
      'https://pay.example/compat/btcpay/mer_x/i/inv_1',
      'https://pay.example/compat/btcpay/mer_y/i/inv_2',
    ])
  })
})

test('PrestaShop checks its key, gives its webhook a secret, takes an order and removes the webhook', async () => {
  const { key } = await api.addKey(merchant.id, false, [...SCOPES, 'payment_links:write'])
  const shop = shopWith(key)
  const current = await shop('GET', '/api-keys/current')
  expect(current.body.apiKey).toBe(key)
  expect(permissionsOf(current)).toEqual([
    'btcpay.store.cancreateinvoice',
    'btcpay.store.canmodifyinvoices',
    'btcpay.store.canmodifystoresettings',
    'btcpay.store.canviewinvoices',
    'btcpay.store.canviewstoresettings',
    'btcpay.store.webhooks.canmodifywebhooks',
  ])
  expect((await shop('GET', '/server/info')).status).toBe(200)
  expect((await shop('GET', store())).body.name).toBe('Shop')
  expect(Object.keys((await shop('GET', store('/payment-methods'))).body)).not.toEqual([])
  expect((await shop('GET', store('/webhooks'))).body).toEqual([])
  const secret = 'a1'.repeat(24)
  const hook = await shop('POST', store('/webhooks'), webhook(null, secret))
  // The plugin stops where the secret is not its own.
  expect(hook.body).toMatchObject({ secret, authorizedEvents: { everything: true } })
  expect((await shop('GET', store('/webhooks'))).body).toMatchObject([{ id: hook.body.id }])
  const made = await shop('POST', store('/invoices'), {
    amount: '33.4',
    currency: 'USD',
    metadata: {
      posData: 'secure-key',
      itemCode: 'invoice-reference-x',
      itemDesc: 'Purchase from Shop',
      taxIncluded: '5.3',
      orderId: 'tXy7Q',
      buyerEmail: 'buyer@example.com',
    },
    checkout: checkoutOptions({ speedPolicy: 'MediumSpeed', redirectURL: 'https://shop.example/validation' }),
  })
  // Amount and currency are compared with the cart's before an order is paid.
  expect(Number(made.body.amount)).toBe(33.4)
  expect(made.body).toMatchObject({ currency: 'USD', metadata: { posData: 'secure-key', orderId: 'tXy7Q' } })
  // It asks whether a second source of prices is set, and shows the answer.
  expect((await shop('GET', store('/rates/configuration/fallback'))).status).toBe(404)
  expect((await shop('DELETE', store(`/webhooks/${hook.body.id}`))).status).toBe(200)
})

test('Magento sends the buyer back with the invoice’s id, and looks for the orders of an invoice', async () => {
  const shop = shopWith(merchant.testKey)
  expect((await shop('GET', '/api-keys/current')).status).toBe(200)
  expect((await shop('GET', '/stores')).body).toMatchObject([{ id: merchant.id, name: 'Shop' }])
  expect((await shop('GET', store('/webhooks'))).body).toEqual([])
  const secret = '5e'.repeat(32)
  const hook = await shop('POST', store('/webhooks'), webhook(null, secret))
  expect(hook.body.secret).toBe(secret)
  const page =
    'https://shop.example/btcpay/redirect/returnafterpayment/orderId/7/invoiceId/{InvoiceId}/hash/ab49/'
  const made = await shop('POST', store('/invoices'), {
    amount: '166',
    currency: 'USD',
    metadata: {
      buyerName: 'ACME Corp, Test Tester',
      buyerCountry: 'US',
      physical: true,
      taxIncluded: false,
      magentoOrderId: '7',
      magentoStoreId: 1,
      buyerAddress3: null,
      orderId: '000000007',
      buyerEmail: 'test.tester@example.com',
    },
    checkout: checkoutOptions({ redirectURL: page, redirectAutomatically: true, defaultLanguage: 'en-US' }),
  })
  expect(made.body).toMatchObject({
    storeId: merchant.id,
    metadata: { magentoStoreId: 1, magentoOrderId: '7' },
  })
  const own = await api.call('GET', `/invoices/${made.body.id}`, { key: merchant.testKey })
  expect(own.body.return_url).toBe(page.replace('{InvoiceId}', made.body.id))
  const found = await shop('GET', store('/invoices?orderId=000000007'))
  expect(found.body).toMatchObject([{ id: made.body.id, status: 'New' }])
  expect((await shop('GET', store(`/invoices/${made.body.id}`))).body.metadata.orderId).toBe('000000007')
  const [method] = (await shop('GET', store(`/invoices/${made.body.id}/payment-methods`))).body
  expect(method).toMatchObject({ paymentMethod: 'LTC-CHAIN', rate: '84.37', totalPaid: '0' })
  expect((await shop('DELETE', store(`/webhooks/${hook.body.id}`))).status).toBe(200)
})

test('OpenCart finds its store, adds a webhook and takes an order whose total has eight decimals', async () => {
  const shop = shopWith(merchant.testKey)
  expect((await shop('GET', store())).body.id).toBe(merchant.id)
  const hook = await shop('POST', store('/webhooks'), webhook(EVENTS, null))
  expect(hook.body).toMatchObject({
    id: expect.any(String),
    secret: expect.any(String),
    url: expect.any(String),
  })
  const order = (amount: string) => ({
    amount,
    currency: 'USD',
    metadata: { orderId: 12 },
    checkout: checkoutOptions({
      redirectURL: 'https://shop.example/index.php?route=extension/btcpay/payment/btcpay|success&token=9f',
    }),
  })
  const made = await shop('POST', store('/invoices'), order('49.90000000'))
  expect(made.body).toMatchObject({ amount: '49.90', metadata: { orderId: 12 } })
  // A total that was never rounded, as from a tax of 19 %: the shop shows 12.35.
  expect((await shop('POST', store('/invoices'), order('12.34560000'))).body.amount).toBe('12.35')
  expect((await shop('GET', store(`/invoices/${made.body.id}`))).body.additionalStatus).toBe('None')
  expect((await shop('DELETE', store(`/webhooks/${hook.body.id}`))).status).toBe(200)
})

test('Drupal Commerce finds its webhook by the URL, gives it a secret again and takes an order', async () => {
  const shop = shopWith(merchant.testKey)
  expect((await shop('GET', store('/webhooks'))).body).toEqual([])
  const hook = await shop('POST', store('/webhooks'), webhook(EVENTS, 'c0'.repeat(32)))
  expect(hook.body.secret).toBe('c0'.repeat(32))
  expect((await shop('GET', store('/webhooks'))).body).toMatchObject([
    { id: hook.body.id, url: 'https://shop.example/btcpay/webhook' },
  ])
  // Its settings are saved again.
  const saved = webhook(EVENTS, 'd1'.repeat(32))
  expect((await shop('PUT', store(`/webhooks/${hook.body.id}`), saved)).status).toBe(200)
  const moved = { ...saved, url: 'https://shop.example/elsewhere' }
  expect(await shop('PUT', store(`/webhooks/${hook.body.id}`), moved)).toEqual({
    status: 422,
    body: [{ path: 'url', message: 'Cannot be changed: create another webhook.' }],
  })
  const made = await shop('POST', store('/invoices'), {
    amount: '20.000000',
    currency: 'USD',
    metadata: { orderNumber: null, orderId: '5', buyerEmail: 'buyer@example.com' },
    checkout: checkoutOptions({ redirectURL: 'https://shop.example/checkout/5/payment/return' }),
  })
  expect(made.body).toMatchObject({ amount: '20.00', checkoutLink: expect.any(String) })
  expect((await shop('GET', store(`/invoices/${made.body.id}`))).body.metadata.orderId).toBe('5')
})

test('Shopware checks its key by the list of invoices, and asks for bitcoin alone', async () => {
  const shop = shopWith(merchant.testKey)
  expect((await shop('GET', store('/invoices'))).body).toEqual([])
  const hook = await shop('POST', store('/webhooks'), { url: 'https://shop.example/api/_action/webhook' })
  expect(hook.body).toMatchObject({ secret: expect.any(String), authorizedEvents: { everything: true } })
  expect((await shop('GET', store(`/webhooks/${hook.body.id}`))).body.enabled).toBe(false)
  expect((await shop('GET', store('/payment-methods'))).body['BTC-CHAIN'].enabled).toBe(true)
  const made = await shop('POST', store('/invoices'), {
    amount: 49.9,
    currency: 'USD',
    metadata: { orderId: '0192f', orderNumber: '10010', transactionId: '0192e' },
    checkout: {
      redirectURL: 'https://shop.example/checkout/finish?orderId=0192f',
      redirectAutomatically: true,
      paymentMethods: ['BTC-CHAIN'],
    },
  })
  expect(made.body).toMatchObject({ amount: '49.90', checkout: { paymentMethods: ['BTC-CHAIN'] } })
})

describe('in live mode', () => {
  test('a plugin’s webhook waits for a person, and asking again replaces it', async () => {
    const { id: keyId, key } = await api.addKey(merchant.id, true, SCOPES)
    const shop = shopWith(key)
    const first = await shop('POST', store('/webhooks'), webhook(EVENTS, null))
    expect(first).toMatchObject({ status: 200, body: { enabled: false } })
    const second = await shop('POST', store('/webhooks'), webhook(EVENTS, 'e2'.repeat(24)))
    expect(second.body.secret).toBe('e2'.repeat(24))
    expect((await shop('GET', store(`/webhooks/${first.body.id}`))).status).toBe(404)
    expect((await shop('GET', store('/webhooks'))).body).toMatchObject([
      { id: second.body.id, enabled: false },
    ])
    const own = await api.call('GET', `/webhook-endpoints/${second.body.id}`, { key })
    expect(own.body).toMatchObject({ status: 'pending_verification', requested_by: keyId, verified_at: null })
    // The key itself makes nothing of it.
    for (const [method, path] of [
      ['POST', `/webhook-endpoints/${second.body.id}/verify`],
      ['POST', `/webhook-endpoints/${second.body.id}/rotate-secret`],
      ['DELETE', `/webhook-endpoints/${second.body.id}`],
      ['POST', '/webhook-endpoints'],
    ] as const) {
      const body = path.endsWith('endpoints') ? { url: 'https://x.example/', subscribed_events: ['*'] } : {}
      const refused = await api.call(method, path, { key, ...(method === 'DELETE' ? {} : { body }) })
      expect(refused.status, path).toBe(403)
    }
    const saved = await shop('PUT', store(`/webhooks/${second.body.id}`), webhook(EVENTS, 'f3'.repeat(24)))
    expect(saved.status).toBe(403)
  })

  test('a key that leaked leaves room for the endpoints that people add', async () => {
    const { key } = await api.addKey(merchant.id, true, SCOPES)
    const statuses: number[] = []
    for (let number = 0; number < 6; number += 1) {
      const body = { url: `https://thief.example/${number}`, subscribed_events: ['*'] }
      statuses.push((await api.call('POST', '/webhook-endpoint-requests', { key, body })).status)
    }
    expect(statuses).toEqual([201, 201, 201, 201, 201, 409])
  })
})

test('only an invoice of the translation is found by its id, and only under its own merchant', async () => {
  const shop = shopWith(merchant.testKey)
  const made = await shop('POST', store('/invoices'), { amount: '5', currency: 'USD', checkout: {} })
  const own = await api.call('POST', '/invoices', {
    key: merchant.testKey,
    body: { usd_amount: '5.00', asset: 'LTC' },
  })
  const other = await api.addMerchant()
  const answers = await Promise.all(
    [
      `${base}/i/${made.body.id}`,
      `${base}/invoice?id=${made.body.id}&view=modal`,
      `${base}/i/${own.body.id}`,
      `${url}/compat/btcpay/${other.id}/i/${made.body.id}`,
      `${base}/i/inv_nonsense`,
      `${base}/i/${encodeURIComponent("' or 1=1")}`,
      `${url}/compat/btcpay/i/${made.body.id}`,
    ].map(async (one) => (await fetch(one, { redirect: 'manual' })).status),
  )
  expect(answers).toEqual([302, 302, 404, 404, 404, 404, 404])
})

test('a secret of the caller’s own must be a strong one, and is for older services’ formats alone', async () => {
  const ask = (body: object) =>
    api.call('POST', '/webhook-endpoints', {
      key: merchant.testKey,
      body: { url: 'https://shop.example/', subscribed_events: ['*'], ...body },
    })
  const secret = 'ab'.repeat(16)
  expect(await ask({ format: 'btcpay', secret })).toMatchObject({ status: 201, body: { secret } })
  for (const body of [
    { secret },
    { format: 'btcpay', secret: 'short' },
    { format: 'btcpay', secret: `${secret} ` },
    { format: 'btcpay', secret: 'x'.repeat(129) },
  ]) {
    expect(await ask(body), JSON.stringify(body)).toMatchObject({
      status: 400,
      body: { error: { param: 'secret' } },
    })
  }
})
