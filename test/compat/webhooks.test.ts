import { spawn } from 'node:child_process'
import { createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import { createRequire } from 'node:module'
import btcpay from 'btcpay-greenfield-node-client'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { EVENT_FORMATS } from '../../src/compat/event-formats.ts'
import { createApiApp } from '../../src/http/api/app.ts'
import { type HttpServer, startHttpServer } from '../../src/http/server.ts'
import { openCompat } from '../../src/roles/compat.ts'
import type { TestApi, TestMerchant } from '../support/api.ts'
import { freePort } from '../support/free-port.ts'
import { startOdoo } from '../support/odoo-plugin.ts'
import { type ShopwareRelease, shopwarePlugin } from '../support/shopware-plugin.ts'
import { until } from '../support/until.ts'
import { emitEvent } from '../support/webhook-fixtures.ts'
import type { ReceivedEvent, WebhookReceiver } from '../support/webhook-receiver.ts'
import { SHOP_FORMATS, type ShopFormat, startWebhookShop, type WebhookShop } from '../support/webhook-shop.ts'
import { recordPayment } from './record-payment.ts'

/** Receivers that were written for two older services, which check what they are sent as those services say. */

const { WebhooksService, ApiKeysService, OpenAPI } = btcpay
// It brings no types.
const { Webhook } = createRequire(import.meta.url)('coinbase-commerce-node')

type Fields = { [field: string]: unknown }
let shop: WebhookShop
let api: TestApi
let server: HttpServer
let url: string
let receiver: WebhookReceiver
let merchant: TestMerchant
beforeAll(async () => {
  shop = await startWebhookShop()
  api = shop.api
  receiver = shop.receiver
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  const own = { name: 'api', owns: () => true, fetch: (request: Request) => api.app.fetch(request) }
  const parts = [...openCompat(api.deps, ['btcpay'], own), own]
  server = await startHttpServer({ host: '127.0.0.1', port, parts, log: api.deps.log })
})
beforeEach(async () => {
  merchant = await shop.addMerchant()
  OpenAPI.BASE = `${url}/compat/btcpay`
  OpenAPI.TOKEN = merchant.testKey
})
afterAll(async () => {
  await server.stop(() => {})
  await shop.stop()
})

const call = (method: string, path: string, body?: object) => shop.call(merchant, method, path, body)

/** As BTCPay's documentation has a shop check a request: the HMAC of the raw body after `sha256=`. */
function isBtcpays({ headers, body }: { headers: IncomingHttpHeaders; body: Buffer }, secret: string) {
  const given = Buffer.from(String(headers['btcpay-sig']))
  const expected = Buffer.from(`sha256=${createHmac('sha256', secret).update(body).digest('hex')}`)
  return given.length === expected.length && timingSafeEqual(given, expected)
}
/** As Coinbase Commerce's own library does. */
function isCommerces({ headers, body }: { headers: IncomingHttpHeaders; body: Buffer }, secret: string) {
  try {
    Webhook.verifyEventBody(body.toString('utf8'), String(headers['x-cc-webhook-signature']), secret)
    return true
  } catch {
    return false
  }
}
const CHECKS = { btcpay: isBtcpays, coinbase_commerce: isCommerces }

/** It takes what is signed with its secret, which `secretOf` returns, and refuses the rest. */
const checking =
  (format: ShopFormat, secretOf: () => string): WebhookReceiver['respond'] =>
  (event, response) =>
    void response.writeHead(CHECKS[format](event, secretOf()) ? 200 : 401).end()

const createEndpoint = (format: ShopFormat) => shop.createEndpoint(merchant, format)
async function createVerified(format: ShopFormat): Promise<{ id: string; secret: string }> {
  const endpoint = await createEndpoint(format)
  receiver.respond = checking(format, () => endpoint.secret)
  const verified = await call('POST', `/webhook-endpoints/${endpoint.id}/verify`)
  if (verified.body.status !== 'enabled') throw new Error(verified.text)
  receiver.events.length = 0
  return endpoint
}
const createInvoice = (fields?: Fields) => shop.createInvoice(merchant, fields)
const parsed = ({ body }: ReceivedEvent) => JSON.parse(body.toString('utf8'))

test('a Greenfield shop creates its webhook, passes the test delivery, and gets events until settlement', async () => {
  const { permissions } = await ApiKeysService.getApiKeysService()
  expect(permissions).toContain(`btcpay.store.webhooks.canmodifywebhooks:${merchant.id}`)
  const events = ['InvoiceReceivedPayment', 'InvoiceProcessing', 'InvoiceSettled', 'InvoiceInvalid']
  const authorizedEvents = { everything: false, specificEvents: events }
  const hook = (await WebhooksService.postWebhooksService({
    storeId: merchant.id,
    // The client's types say texts; the service takes what is here.
    requestBody: { url: receiver.url, authorizedEvents } as Fields,
  })) as { id: string; secret: string }
  expect(hook).toEqual({
    id: expect.stringMatching(/^we_/),
    enabled: false,
    automaticRedelivery: true,
    url: receiver.url,
    authorizedEvents,
    secret: expect.stringMatching(/^whsec_/),
  })
  receiver.respond = checking('btcpay', () => hook.secret)
  expect((await call('POST', `/webhook-endpoints/${hook.id}/verify`)).body.status).toBe('enabled')
  expect(receiver.events.map(parsed).every(({ invoiceId }) => /^__test__.*__test__$/.test(invoiceId))).toBe(
    true,
  )
  const asked = { storeId: merchant.id, webhookId: hook.id }
  expect(await WebhooksService.webhokksGetWebhook(asked)).toMatchObject({ id: hook.id, enabled: true })
  expect(await WebhooksService.webhokksGetWebhooks({ storeId: merchant.id })).toHaveLength(1)

  receiver.events.length = 0
  const invoice = await createInvoice({ metadata: { orderId: 'wc-1', btcpay_checkout: {} } })
  await recordPayment(api, merchant, invoice.id, 'seen')
  await until(() => receiver.events.length === 1, { what: 'the first event came' })
  await recordPayment(api, merchant, invoice.id, 'final')
  await until(() => receiver.events.length === 2, { what: 'the second event came' })
  expect(receiver.events.every((event) => isBtcpays(event, hook.secret))).toBe(true)
  const bodies = receiver.events.map(parsed)
  expect(bodies.map(({ type }) => type)).toEqual(['InvoiceProcessing', 'InvoiceSettled'])
  expect(bodies.find(({ type }) => type === 'InvoiceSettled')).toEqual({
    deliveryId: expect.stringMatching(/^evt_/),
    originalDeliveryId: expect.stringMatching(/^evt_/),
    webhookId: hook.id,
    isRedelivery: false,
    type: 'InvoiceSettled',
    timestamp: expect.any(Number),
    storeId: merchant.id,
    invoiceId: invoice.id,
    metadata: { orderId: 'wc-1' },
    manuallyMarked: false,
    overPaid: false,
  })
  await WebhooksService.deleteWebhooksService({ ...asked, requestBody: {} })
  expect(await WebhooksService.webhokksGetWebhooks({ storeId: merchant.id })).toEqual([])
})

test('a Greenfield shop stores its webhook again as it is, with all events and with its new secret', async () => {
  const asked = { storeId: merchant.id }
  const everything = { url: receiver.url, authorizedEvents: { everything: true, specificEvents: [] } }
  const hook = (await WebhooksService.postWebhooksService({
    ...asked,
    requestBody: everything as Fields,
  })) as {
    id: string
  }
  const put = async (body: Fields) => {
    const answer = await fetch(`${url}/compat/btcpay/api/v1/stores/${merchant.id}/webhooks/${hook.id}`, {
      method: 'PUT',
      headers: { authorization: `token ${merchant.testKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const told = await answer.json()
    return [answer.status, Array.isArray(told) ? told[0].path : told.authorizedEvents]
  }
  expect(await put(everything)).toEqual([200, everything.authorizedEvents])
  expect(await put({ url: receiver.url })).toEqual([200, everything.authorizedEvents])
  const secret = '09'.repeat(32)
  expect(await put({ ...everything, secret })).toEqual([200, everything.authorizedEvents])
  const fewer = { everything: false, specificEvents: ['InvoiceSettled'] }
  expect(await put({ ...everything, authorizedEvents: fewer })).toEqual([422, 'authorizedEvents'])
})

test('what Greenfield’s webhooks cannot do here is refused by name', async () => {
  const refused = async (body: Fields) => {
    const answer = await fetch(`${url}/compat/btcpay/api/v1/stores/${merchant.id}/webhooks`, {
      method: 'POST',
      headers: { authorization: `token ${merchant.testKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: receiver.url, ...body }),
    })
    const told = await answer.json()
    return [answer.status, Array.isArray(told) ? told[0].path : told.code]
  }
  expect(await refused({ secret: 'my own' })).toEqual([422, 'secret'])
  expect(await refused({ automaticRedelivery: false })).toEqual([422, 'automaticRedelivery'])
  expect(await refused({ authorizedEvents: { specificEvents: ['InvoicePayed'] } })).toEqual([
    422,
    'authorizedEvents',
  ])
  expect(await refused({ url: 'ftp://shop.example' })).toEqual([422, 'url'])
})

test('Coinbase Commerce’s own library takes every event of a charge, and the charge in it is the API’s', async () => {
  const endpoint = await createVerified('coinbase_commerce')
  const invoice = await createInvoice()
  await recordPayment(api, merchant, invoice.id, 'seen')
  await until(() => receiver.events.length === 2, { what: 'two events came' })
  await recordPayment(api, merchant, invoice.id, 'final')
  await until(() => receiver.events.length === 3, { what: 'three events came' })
  const events = receiver.events.map(({ headers, body }) =>
    Webhook.verifyEventBody(
      body.toString('utf8'),
      String(headers['x-cc-webhook-signature']),
      endpoint.secret,
    ),
  )
  expect(events.map(({ type }) => type)).toEqual(['charge:created', 'charge:pending', 'charge:confirmed'])
  const confirmed = events.find(({ type }) => type === 'charge:confirmed')
  expect(confirmed).toMatchObject({ resource: 'event', api_version: '2018-03-22' })
  expect(confirmed.data).toMatchObject({
    code: invoice.id,
    pricing: { local: { amount: '12.50', currency: 'USD' } },
    payments: [{ network: 'litecoin', status: 'CONFIRMED' }],
  })
  expect(confirmed.data.timeline.at(-1).status).toBe('COMPLETED')
  // The buyer's link is a secret, and what is sent again and again is no place for it.
  expect(JSON.stringify(events)).not.toContain('/i/')
})

test.each(SHOP_FORMATS)(
  'every attempt in format %s sends the same bytes; while two secrets are valid either verifies it',
  async (format) => {
    const endpoint = await createVerified(format)
    const rotated = await call('POST', `/webhook-endpoints/${endpoint.id}/rotate-secret`, {})
    expect(rotated.status).toBe(200)
    // It has the old secret still, and takes the second attempt; then it fails for reasons of its own.
    let accepts = false
    receiver.respond = (event, response) =>
      void response.writeHead(accepts && CHECKS[format](event, endpoint.secret) ? 200 : 500).end()
    await createInvoice()
    for (const count of [1, 2, 3]) {
      await until(() => receiver.events.length === count, { what: `attempt ${count}` })
      await until(
        async () => {
          const { rowCount } = await api.database.owner.query('select from delivery where lease_id is null')
          return rowCount === 1
        },
        { what: 'the attempt is recorded' },
      )
      accepts = count === 3
      await shop.hurry()
    }
    await until(
      async () => {
        const { rowCount } = await api.database.owner.query('select from delivery')
        return rowCount === 0
      },
      { what: 'the delivery is finished' },
    )
    const [first, ...others] = receiver.events
    if (first === undefined) throw new Error('nothing came')
    for (const event of others) expect(event.body.equals(first.body)).toBe(true)
    const [isOlds, isNews] = [endpoint.secret, rotated.body.secret].map((secret) =>
      receiver.events.map((event) => CHECKS[format](event, secret)),
    )
    expect(isNews).toEqual([true, false, true, false])
    expect(isOlds).toEqual([false, true, false, true])
  },
)

test('a receiver that takes anything, or nothing, stays unverified', async () => {
  const verify = async (respond: WebhookReceiver['respond']) => {
    receiver.respond = respond
    const endpoint = await createEndpoint('btcpay')
    const { status, body } = await call('POST', `/webhook-endpoints/${endpoint.id}/verify`)
    const now = (await call('GET', `/webhook-endpoints/${endpoint.id}`)).body
    return [status, body.error?.reason, now.status]
  }
  const unverified = (reason: string) => [422, reason, 'pending_verification']
  const answer =
    (status: number): WebhookReceiver['respond'] =>
    (_event, response) =>
      void response.writeHead(status).end()
  expect(await verify(answer(200))).toEqual(unverified('signature_not_checked'))
  expect(await verify(answer(500))).toEqual(unverified('http_status'))
  // As a server does that wakes up, or has had enough: what it answers has nothing to do with the signature.
  let asked = 0
  expect(
    await verify((event, response, request) => answer(++asked > 1 ? 200 : 503)(event, response, request)),
  ).toEqual(unverified('signature_not_checked'))
})

const RELEASES: readonly ShopwareRelease[] = ['up to 1.1', '2025']
test.each(RELEASES)(
  'Shopware’s plugin %s is verified by the one event that it asks about, and hears of its payment',
  async (release) => {
    const plugin = shopwarePlugin({
      release,
      // What follows the server's name is dropped, as the plugin does.
      serverUrl: `${url}/compat/btcpay/${merchant.id}`,
      key: merchant.testKey,
      storeId: merchant.id,
    })
    receiver.respond = plugin.respond
    const hookId = await plugin.verify(receiver.url)
    expect(await plugin.isEnabled(hookId)).toBe(false)
    const verified = await call('POST', `/webhook-endpoints/${hookId}/verify`)
    expect([verified.status, verified.body.status]).toEqual([200, 'enabled'])
    expect(await plugin.isEnabled(hookId)).toBe(true)

    const order = await plugin.order('10010', 'LTC-CHAIN')
    await recordPayment(api, merchant, order.invoiceId, 'seen')
    await until(() => order.state === 'in_progress', { what: 'the order waits for confirmations' })
    await recordPayment(api, merchant, order.invoiceId, 'final')
    await until(() => order.state === 'paid', { what: 'the order is paid' })

    // One that would answer 200 to what it cannot verify gets no secret that it may not have.
    const rotated = await call('POST', `/webhook-endpoints/${hookId}/rotate-secret`, {})
    const refused = [409, 'rotation_loses_events']
    expect([rotated.status, rotated.body.error?.code]).toEqual(
      release === '2025' ? [200, undefined] : refused,
    )
  },
)

test('who asks about every event, about none, or with another shop’s key has not checked a signature', async () => {
  const others = await shop.addMerchant()
  const own = { release: 'up to 1.1', serverUrl: url, storeId: merchant.id, key: merchant.testKey } as const
  const plugin = shopwarePlugin(own)
  const hookId = await plugin.verify(receiver.url)
  const faults = [
    { fault: 'checks nothing' },
    { fault: 'checks nothing, and asks later' },
    { fault: 'asks for nothing' },
    { key: others.testKey },
  ] as const
  for (const fault of faults) {
    receiver.respond = shopwarePlugin({ ...own, secret: plugin.secret.current, ...fault }).respond
    const { status, body } = await call('POST', `/webhook-endpoints/${hookId}/verify`)
    expect([status, body.error?.reason], JSON.stringify(fault)).toEqual([422, 'signature_not_checked'])
  }
})

test('Odoo’s plugin is told by the relay, which alone believes a signature, until it has asked', async () => {
  const odoo = await startOdoo({ location: `${url}/compat/btcpay`, token: merchant.testKey })
  const port = await freePort()
  const endpoint = await call('POST', '/webhook-endpoints', {
    url: `http://localhost:${port}/`,
    subscribed_events: ['*'],
  })
  const relay = spawn(process.execPath, ['examples/odoo-relay.mjs', odoo.url, String(port)], {
    env: { PATH: process.env.PATH, WEBHOOK_SECRET: endpoint.body.secret },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    await once(relay.stdout, 'data')
    relay.stdout.resume()
    const forged = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{}' })
    expect([forged.status, odoo.told]).toEqual([401, []])
    const verified = await call('POST', `/webhook-endpoints/${endpoint.body.id}/verify`)
    expect(verified.body.status).toBe('enabled')

    const { order, url: page } = await odoo.checkout('S00042', '49.9', null)
    const invoice = (await call('GET', `/invoices/${order.invoiceId}`)).body
    expect([page, invoice.usd_amount, invoice.customer_email, invoice.external_reference]).toEqual([
      invoice.checkout_url,
      '49.90',
      null,
      'S00042',
    ])
    await recordPayment(api, merchant, invoice.id, 'seen')
    await until(() => order.state === 'pending', { what: 'the order waits for confirmations' })
    odoo.failNext(1)
    await recordPayment(api, merchant, invoice.id, 'final')
    // What Odoo failed at is sent again.
    await until(async () => (await shop.hurry()) !== null && order.state === 'done', { what: 'it is paid' })
    // An invoice that is no order of Odoo's is nobody's business there.
    await createInvoice()
    await until(
      async () => {
        const { rowCount } = await api.database.owner.query('select from delivery')
        return rowCount === 0
      },
      { what: 'everything was taken' },
    )
    expect(new Set(odoo.told)).toEqual(new Set(['/payment/btcpay/ipn S00042']))
  } finally {
    relay.kill('SIGKILL')
    await odoo.close()
  }
})

test('these formats have invoice events only: nothing else is subscribed to, queued or recovered', async () => {
  const endpoint = await createVerified('btcpay')
  const types = ['invoice.paid', 'payout.confirmed']
  const body = { url: receiver.url, subscribed_events: types, format: 'btcpay' }
  const refused = await call('POST', '/webhook-endpoints', body)
  expect([refused.status, refused.body.error.code]).toEqual([400, 'event_type_not_selectable'])
  const { subscribed_events } = (await call('GET', `/webhook-endpoints/${endpoint.id}`)).body
  expect(subscribed_events).toHaveLength(8)
  expect(subscribed_events.every((type: string) => type.startsWith('invoice.'))).toBe(true)
  const tenant = { merchantId: merchant.id, livemode: false }
  const eventId = await emitEvent(api.database, tenant, 'payout.confirmed')
  const queued = await call('POST', `/events/${eventId}/queue`, { endpoint_id: endpoint.id })
  expect([queued.status, queued.body.error.code]).toEqual([409, 'endpoint_not_eligible'])
  const since = '2026-01-01T00:00:00Z'
  const recovered = await call('POST', '/events/recover', { endpoint_id: endpoint.id, since })
  expect(recovered.body).toMatchObject({ queued: 0 })
  expect(receiver.events).toEqual([])
})

test('a disabled format takes no new endpoints, and existing ones get events as before', async () => {
  const endpoint = await createVerified('coinbase_commerce')
  const app = createApiApp({ ...api.deps, webhookFormats: { known: EVENT_FORMATS, offered: ['btcpay'] } })
  const ask = (format: string) =>
    app.request('/api/v1/webhook-endpoints', {
      method: 'POST',
      headers: { authorization: `Bearer ${merchant.testKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ url: receiver.url, subscribed_events: ['*'], format }),
    })
  const refused = await ask('coinbase_commerce')
  expect([refused.status, (await refused.json()).error.param]).toEqual([400, 'format'])
  expect((await ask('btcpay')).status).toBe(201)
  const path = `/api/v1/webhook-endpoints/${endpoint.id}/verify`
  const headers = { authorization: `Bearer ${merchant.testKey}` }
  expect((await app.request(path, { method: 'POST', headers })).status).toBe(200)
})
