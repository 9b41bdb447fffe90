import { createRequire } from 'node:module'
import btcpay from 'btcpay-greenfield-node-client'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/config/config.ts'
import { storePaymentRules } from '../../src/db/invoices/payment-rules.ts'
import { recordTransfers } from '../../src/flows/record-transfers.ts'
import { createApiApp } from '../../src/http/api/app.ts'
import { type HttpServer, startHttpServer } from '../../src/http/server.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { openCompat } from '../../src/roles/compat.ts'
import { createTestApi, type TestApi, type TestMerchant } from '../support/api.ts'
import { freePort } from '../support/free-port.ts'
import { inBlock } from '../support/invoice.ts'
import { recordPayment } from './record-payment.ts'

/** Shops of two older services, with those services' own clients, moved here by nothing but another URL and key. */

const { InvoicesService, StoresService, ServerInfoService, ApiKeysService, HealthService, OpenAPI } = btcpay
// It brings no types.
const commerce = createRequire(import.meta.url)('coinbase-commerce-node')

let api: TestApi
let merchant: TestMerchant
let server: HttpServer
let url: string
beforeAll(async () => {
  api = await createTestApi()
  merchant = await addShop()
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  const own = { name: 'api', owns: () => true, fetch: (request: Request) => api.app.fetch(request) }
  const parts = [...openCompat(api.deps, ['btcpay', 'coinbase_commerce'], own), own]
  server = await startHttpServer({ host: '127.0.0.1', port, parts, log: api.deps.log })
})
afterAll(async () => {
  await server.stop(() => {})
  await api.drop()
})

/** A shop whose invoices begin in Litecoin, the coin that these tests have addresses of. */
async function addShop(more: object = {}): Promise<TestMerchant> {
  const shop = await api.addMerchant()
  const tenant = { merchantId: shop.id, livemode: false }
  const rules = { document: { default_asset: 'LTC', ...more }, now: api.time.now }
  await withTransaction(api.deps.pool, tenant, (tx) => storePaymentRules(tx, tenant, rules))
  return shop
}

const read = async (id: string) => (await api.call('GET', `/invoices/${id}`, { key: merchant.testKey })).body
/** Everything an invoice can meet, by what a chain reports of it. */
const pay = (id: string, state: 'seen' | 'final', share: bigint = 100n) =>
  recordPayment(api, merchant, id, state, share)

/** What a call of the client fails with. */
const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => {
      throw new Error('it succeeded')
    },
    (error: unknown) => error,
  )

test('nothing is translated unless it is named', async () => {
  const own = { name: 'api', owns: () => true, fetch: (request: Request) => api.app.fetch(request) }
  expect(openCompat(api.deps, [], own)).toEqual([])
  expect(loadConfig({}).compatApis).toEqual([])
  const [btcpayAlone, ...others] = openCompat(api.deps, ['btcpay'], own)
  expect(others).toEqual([])
  const owned = [
    '/compat/btcpay/api/v1/health',
    '/compat/coinbase-commerce/charges',
    '/api/v1/invoices',
    '/compat/btcpayx',
  ]
  expect(owned.map((path) => btcpayAlone?.owns(path))).toEqual([true, false, false, false])
})

test('an Idempotency-Key makes one invoice, whichever of the APIs is asked and however often at once', async () => {
  const greenfield = (key: string, shop: TestMerchant, idempotencyKey: string, amount = '0.5') =>
    fetch(`${url}/compat/btcpay/api/v1/stores/${shop.id}/invoices`, {
      method: 'POST',
      headers: {
        authorization: `token ${key}`,
        'idempotency-key': idempotencyKey,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ amount, currency: 'LTC' }),
    })
  const charge = (key: string, idempotencyKey: string) =>
    fetch(`${url}/compat/coinbase-commerce/charges`, {
      method: 'POST',
      headers: {
        'x-cc-api-key': key,
        'idempotency-key': idempotencyKey,
        'content-type': 'application/json',
      },
      body: JSON.stringify({
        name: 'Tea',
        pricing_type: 'fixed_price',
        local_price: { amount: '5.00', currency: 'USD' },
      }),
    })
  const [shop, other] = [await addShop(), await addShop()]
  const made = async () => {
    const { rows } = await api.database.owner.query<{ id: string }>(
      'select id from invoice where merchant_id = $1 order by id',
      [shop.id],
    )
    return rows.map(({ id }) => id)
  }
  const many = (ask: () => Promise<Response>) => Promise.all(Array.from({ length: 10 }, ask))
  const asked = await many(() => greenfield(shop.testKey, shop, 'k'))
  expect(asked.every(({ status }) => status === 200 || status === 409)).toBe(true)
  const [id] = await made()
  expect(await made()).toHaveLength(1)
  expect(await (await greenfield(shop.testKey, shop, 'k')).json()).toMatchObject({ id })
  const charged = await many(() => charge(shop.testKey, 'c'))
  expect(charged.every(({ status }) => status === 201 || status === 409)).toBe(true)
  expect(await made()).toHaveLength(2)
  // Another amount, the other service's form and our own are other requests.
  const statuses = [
    (await greenfield(shop.testKey, shop, 'k', '0.6')).status,
    (await charge(shop.testKey, 'k')).status,
    (
      await api.call('POST', '/invoices', {
        key: shop.testKey,
        body: { amount: '0.5', asset: 'LTC' },
        headers: { 'idempotency-key': 'k' },
      })
    ).status,
  ]
  expect(statuses).toEqual([422, 422, 422])
  expect(await made()).toHaveLength(2)
  // Another mode's and another shop's keys are their own.
  const own = [await greenfield(shop.liveKey, shop, 'k'), await greenfield(other.testKey, other, 'k')]
  expect(own.map(({ status }) => status)).toEqual([200, 200])
  const ids = await Promise.all(own.map(async (answer) => ((await answer.json()) as { id: string }).id))
  expect(new Set([id, ...ids]).size).toBe(3)
})

describe('a shop that speaks BTCPay’s Greenfield API', () => {
  beforeEach(() => {
    OpenAPI.BASE = `${url}/compat/btcpay`
    OpenAPI.TOKEN = merchant.testKey
  })
  const create = (requestBody: object) =>
    InvoicesService.invoicesCreateInvoice({ storeId: merchant.id, requestBody }) as Promise<{
      id: string
      [field: string]: unknown
    }>
  const get = (invoiceId: string) => InvoicesService.invoicesGetInvoice({ storeId: merchant.id, invoiceId })
  const order = { amount: '12.5', currency: 'USD', checkout: { paymentMethods: ['LTC', 'BTC'] } }

  test('creates an invoice that is one of ours, with its order number, mail and metadata', async () => {
    const metadata = { orderId: 'wc-1001', buyerEmail: 'buyer@example.com', itemDesc: 'Tea', physical: false }
    const redirectURL = 'https://shop.example/thanks?order={OrderId}'
    const made = await create({ ...order, metadata, checkout: { ...order.checkout, redirectURL } })
    expect(made).toMatchObject({
      storeId: merchant.id,
      amount: '12.50',
      currency: 'USD',
      type: 'Standard',
      status: 'New',
      additionalStatus: 'None',
      metadata,
      checkout: { redirectURL, expirationMinutes: 60 },
    })
    const own = await read(made.id)
    expect(own).toMatchObject({
      usd_amount: '12.50',
      asset: 'LTC',
      allow_asset_selection: true,
      external_reference: 'wc-1001',
      description: 'Tea',
      customer_email: 'buyer@example.com',
      return_url: 'https://shop.example/thanks?order=wc-1001',
      checkout_url: made.checkoutLink,
      metadata,
    })
    expect(made.createdTime).toBe(Date.parse(own.created_at) / 1_000)
    expect(made.expirationTime).toBe(Date.parse(own.expires_at) / 1_000)
    expect(await get(made.id)).toEqual(made)
    const found = await fetch(`${OpenAPI.BASE}/api/v1/stores/${merchant.id}/invoices?orderId=wc-1001`, {
      headers: { authorization: `token ${merchant.testKey}` },
    })
    expect(await found.json()).toEqual([made])
    const all = await InvoicesService.invoicesGetInvoices({ storeId: merchant.id })
    expect((all as { id: string }[]).map(({ id }) => id)).toContain(made.id)
  })

  test('an item’s description is made to fit, and refused for nothing', async () => {
    const told = async (itemDesc: unknown) => {
      const made = await create({ ...order, metadata: { itemDesc } })
      expect(made.metadata).toEqual({ itemDesc })
      return (await read(made.id)).description
    }
    expect(await told(' Tea\r\n\tfor two\u0001 ')).toBe('Tea for two')
    expect(await told('😀'.repeat(600))).toBe('😀'.repeat(500))
    for (const odd of ['', ' \n ', 7, null, { a: 'Tea' }, ['Tea']]) expect(await told(odd)).toBeNull()
  })

  test('creates one in coins, and one whose amount is a number', async () => {
    const coins = await create({ amount: '0.05000000', currency: 'LTC' })
    expect(coins).toMatchObject({ amount: '0.05', currency: 'LTC' })
    expect(await read(coins.id)).toMatchObject({ asset: 'LTC', amount: '0.05', usd_amount: null })
    expect(await create({ ...order, amount: 7 })).toMatchObject({ amount: '7.00' })
  })

  test('creates one in the shop’s own currency, and reads it in that currency again', async () => {
    const made = await create({ ...order, amount: '4999.4', currency: 'jpy' })
    expect(made).toMatchObject({ amount: '4999', currency: 'JPY' })
    expect(await get(made.id)).toEqual(made)
    expect(await read(made.id)).toMatchObject({
      price: { amount: '4999', currency: 'JPY' },
      usd_amount: '33.50',
    })
    // 84.37 dollars for a litecoin, at 0.0067 for a yen.
    const methods = await InvoicesService.invoicesGetInvoicePaymentMethods({
      storeId: merchant.id,
      invoiceId: made.id,
    })
    expect(methods).toMatchObject([{ paymentMethodId: 'LTC-CHAIN', rate: '12592.537313432836' }])
  })

  test('reads each state by the names that it knows', async () => {
    const stands = async (id: string) => {
      const { status, additionalStatus } = await get(id)
      return `${status} ${additionalStatus}`
    }
    const paid = await create(order)
    await pay(paid.id, 'seen')
    expect(await stands(paid.id)).toBe('Processing None')
    await pay(paid.id, 'final')
    expect(await stands(paid.id)).toBe('Settled None')
    const short = await create(order)
    await pay(short.id, 'seen', 40n)
    expect(await stands(short.id)).toBe('New PaidPartial')
    await pay(short.id, 'final', 40n)
    expect(await stands(short.id)).toBe('New PaidPartial')
    const over = await create(order)
    await pay(over.id, 'final', 160n)
    expect(await stands(over.id)).toBe('Settled PaidOver')
  })

  test('reads what has come, in the coin that it came in', async () => {
    const made = await create(order)
    await pay(made.id, 'seen', 40n)
    const own = await read(made.id)
    const [method, ...others] = await InvoicesService.invoicesGetInvoicePaymentMethods({
      storeId: merchant.id,
      invoiceId: made.id,
    })
    expect(others).toEqual([])
    expect(method).toMatchObject({
      paymentMethod: 'LTC-CHAIN',
      destination: own.address,
      paymentLink: own.payment_uri,
      rate: '84.37',
      amount: own.amount,
      totalPaid: own.amount_detected,
      due: own.amount_remaining,
      payments: [{ value: own.amount_detected, status: 'Processing' }],
    })
  })

  test('an invoice without metadata, or with empty fields, is made all the same', async () => {
    const metadata = { orderId: 1001, buyerEmail: '' }
    const made = await create({ ...order, metadata, checkout: { redirectURL: '' } })
    expect(await read(made.id)).toMatchObject({ external_reference: '1001', customer_email: null })
    await create({ ...order, metadata: null, checkout: null })
  })

  test('a payment in another coin is not listed as one in the coin of the invoice', async () => {
    const made = await create({ ...order, checkout: {} })
    const wrong = inBlock('f'.repeat(64), 5_000n, 9, { asset: 'BTC', network: 'bitcoin-test' })
    await recordTransfers(
      { pool: api.database.pools.watcher, clock: api.deps.clock },
      {
        tenant: { merchantId: merchant.id, livemode: false },
        invoiceId: made.id,
        facts: [wrong],
        tipHeight: 9,
      },
    )
    expect((await read(made.id)).payments).toMatchObject([{ asset: 'BTC', review_reason: 'wrong_asset' }])
    const methods = await InvoicesService.invoicesGetInvoicePaymentMethods({
      storeId: merchant.id,
      invoiceId: made.id,
    })
    expect(methods).toMatchObject([{ paymentMethod: 'LTC-CHAIN', totalPaid: '0', payments: [] }])
  })

  test('marks an invoice invalid, which cancels it, and accepts what was short', async () => {
    const mark = (invoiceId: string, status: string) =>
      fetch(`${OpenAPI.BASE}/api/v1/stores/${merchant.id}/invoices/${invoiceId}/status`, {
        method: 'POST',
        headers: { authorization: `token ${merchant.testKey}`, 'content-type': 'application/json' },
        body: JSON.stringify({ status }),
      })
    const open = await create(order)
    expect(await (await mark(open.id, 'Invalid')).json()).toMatchObject({
      status: 'Invalid',
      additionalStatus: 'Marked',
    })
    expect((await mark(open.id, 'Settled')).status).toBe(409)
    const short = await create(order)
    await pay(short.id, 'final', 40n)
    expect(await (await mark(short.id, 'Settled')).json()).toMatchObject({ status: 'Settled' })
    expect(await read(short.id)).toMatchObject({ status: 'paid' })
    expect(await (await mark(short.id, 'Nonsense')).json()).toEqual([
      expect.objectContaining({ path: 'status' }),
    ])
  })

  test('finds its store, its rights and a server that is up', async () => {
    const store = await StoresService.storesGetStore({ storeId: merchant.id })
    expect(store).toMatchObject({ id: merchant.id, name: 'Shop' })
    expect(await StoresService.storesGetStores()).toEqual([store])
    const { permissions } = await ApiKeysService.getApiKeysService()
    expect(permissions).toContain(`btcpay.store.cancreateinvoice:${merchant.id}`)
    expect(await ServerInfoService.serverInfoGetServerInfo()).toMatchObject({
      fullySynched: true,
      syncStatus: [],
    })
    const { supportedPaymentMethods } = await ServerInfoService.serverInfoGetServerInfo()
    expect(supportedPaymentMethods).toEqual([
      'BTC-CHAIN',
      'LTC-CHAIN',
      'ETH-CHAIN',
      'USDC-CHAIN',
      'SOL-CHAIN',
    ])
    expect(await HealthService.healthGetHealth()).toEqual({ synchronized: true })
  })

  test('knows USDT, and asks for it by the names that it was told', async () => {
    const shop = await addShop({ accepted_assets: ['LTC', 'USDT_ETHEREUM'] })
    const stores = `${url}/compat/btcpay/api/v1/stores/${shop.id}`
    const headers = { authorization: `token ${shop.testKey}`, 'content-type': 'application/json' }
    const methods = await (await fetch(`${stores}/payment-methods`, { headers })).json()
    expect(Object.keys(methods)).toEqual(['LTC-CHAIN', 'USDT-CHAIN'])
    for (const asked of [
      { amount: '49.99', currency: 'USDT' },
      { ...order, checkout: { paymentMethods: ['USDT-CHAIN'] } },
    ]) {
      // These tests have no addresses on Ethereum: its network is what is missing, and not the coin.
      const refused = await fetch(`${stores}/invoices`, {
        method: 'POST',
        headers,
        body: JSON.stringify(asked),
      })
      expect([refused.status, (await refused.json()).code]).toEqual([503, 'asset-unavailable'])
    }
  })

  test('gets errors in the format that it reads', async () => {
    for (const [wrong, path] of [
      [{ ...order, amount: 'much' }, 'amount'],
      [{ currency: 'USD' }, 'amount'],
      [{ ...order, currency: 'KWD' }, 'currency'],
      [{ ...order, currency: 'EUR', amount: '0.10' }, 'amount'],
      [{ ...order, amount: '0.10' }, 'amount'],
      [{ ...order, checkout: { paymentMethods: ['BTC-LightningNetwork'] } }, 'checkout.paymentMethods'],
      [{ ...order, checkout: { paymentMethods: ['LTC', 'BTC-LN'] } }, 'checkout.paymentMethods'],
      [{ ...order, checkout: { paymentMethods: 'LTC' } }, 'checkout.paymentMethods'],
      [{ ...order, checkout: { defaultPaymentMethod: 'BTC-LNURL' } }, 'checkout.defaultPaymentMethod'],
      [{ ...order, checkout: { defaultPaymentMethod: { toString: 1 } } }, 'checkout.defaultPaymentMethod'],
      [{ ...order, checkout: { paymentMethods: [[{ toString: 1 }]] } }, 'checkout.paymentMethods'],
      [{ ...order, checkout: 'fast' }, 'checkout'],
      [{ ...order, metadata: ['wc-1001'] }, 'metadata'],
      [{ ...order, metadata: { orderId: 'x'.repeat(256) } }, 'metadata.orderId'],
      [{ ...order, metadata: { orderId: { number: 1 } } }, 'metadata.orderId'],
      [
        {
          ...order,
          metadata: { orderId: { toString: 1 } },
          checkout: { redirectURL: 'https://shop.example/{OrderId}' },
        },
        'metadata.orderId',
      ],
      [{ ...order, metadata: { buyerEmail: 'nobody' } }, 'metadata.buyerEmail'],
      ...['javascript:alert(1)', 'http://shop.example', 7].map(
        (redirectURL) => [{ ...order, checkout: { redirectURL } }, 'checkout.redirectURL'] as const,
      ),
    ] as const) {
      expect(await failureOf(create(wrong))).toMatchObject({
        status: 422,
        body: [expect.objectContaining({ path })],
      })
    }
    expect(await failureOf(get('inv_01jd0w5f3e8gqv7n5k2m9x4c6t'))).toMatchObject({
      status: 404,
      body: { code: 'not-found' },
    })
    expect(await failureOf(get('../../payouts'))).toMatchObject({ status: 404 })
    const listed = await fetch(`${OpenAPI.BASE}/api/v1/stores/${merchant.id}/invoices?status=Settled`, {
      headers: { authorization: `token ${merchant.testKey}` },
    })
    expect({ status: listed.status, body: await listed.json() }).toEqual({
      status: 422,
      body: [{ path: 'status', message: 'This filter is not covered.' }],
    })
    const other = await api.addMerchant()
    expect(await failureOf(StoresService.storesGetStore({ storeId: other.id }))).toMatchObject({
      status: 404,
    })
    OpenAPI.TOKEN = 'sk_test_nonsense'
    expect(await failureOf(create(order))).toMatchObject({ status: 401 })
    OpenAPI.TOKEN = (await api.addKey(merchant.id, false, ['invoices:read'])).key
    expect(await failureOf(create(order))).toMatchObject({ status: 403, body: { code: 'scope-missing' } })
  })

  test.each(['/stores', '/stores/:store', '/api-keys/current', '/server/info'])(
    'is held to the limit of its key at %s too',
    async (path) => {
      const app = createApiApp({ ...api.deps, rateLimits: { live: 1, test: 1 } })
      const own = { name: 'api', owns: () => true, fetch: (request: Request) => app.fetch(request) }
      const [part] = openCompat(api.deps, ['btcpay'], own)
      const ask = async () => {
        const asked = new Request(`http://x/compat/btcpay/api/v1${path.replace(':store', merchant.id)}`, {
          headers: { authorization: `token ${merchant.testKey}` },
        })
        const answer = await part?.fetch(asked)
        return [answer?.status, answer?.headers.get('retry-after')]
      }
      expect([await ask(), await ask(), await ask()]).toEqual([
        [200, null],
        [200, null],
        [429, expect.stringMatching(/^\d+$/)],
      ])
    },
  )

  test('sees nothing of another shop', async () => {
    const other = await api.addMerchant()
    const made = await create(order)
    OpenAPI.TOKEN = other.testKey
    expect(await failureOf(get(made.id))).toMatchObject({ status: 404, body: { code: 'store-not-found' } })
    const invoice = InvoicesService.invoicesGetInvoice({ storeId: other.id, invoiceId: made.id })
    expect(await failureOf(invoice)).toMatchObject({ status: 404, body: { code: 'not-found' } })
  })
})

describe('a shop that speaks Coinbase Commerce’s API', () => {
  const { Charge } = commerce.resources
  const { errors } = commerce
  beforeEach(() => {
    commerce.Client.init(merchant.testKey, `${url}/compat/coinbase-commerce/`, undefined, 20_000)
  })
  const order = {
    name: 'Tea',
    description: 'A tin of it',
    pricing_type: 'fixed_price',
    local_price: { amount: '12.50', currency: 'USD' },
    metadata: { order_id: 'cc-1001', email: 'buyer@example.com' },
    redirect_url: 'https://shop.example/thanks',
  }
  const lastOf = (charge: { timeline: { status: string; context?: string }[] }) => {
    const { status, context } = charge.timeline.at(-1) ?? {}
    return context === undefined ? status : `${status} ${context}`
  }

  test('creates a charge that is one of our invoices, and finds it again', async () => {
    const charge = await Charge.create(order)
    const own = await read(charge.id)
    expect(own).toMatchObject({
      usd_amount: '12.50',
      allow_asset_selection: true,
      external_reference: 'cc-1001',
      description: 'Tea: A tin of it',
      customer_email: 'buyer@example.com',
    })
    expect(charge).toMatchObject({
      code: own.id,
      name: 'Tea',
      description: 'A tin of it',
      hosted_url: own.checkout_url,
      pricing: { local: { amount: '12.50', currency: 'USD' } },
      metadata: order.metadata,
      redirect_url: order.redirect_url,
      payments: [],
    })
    expect(lastOf(charge)).toBe('NEW')
    expect(JSON.parse(JSON.stringify(await Charge.retrieve(charge.code)))).toEqual(
      JSON.parse(JSON.stringify(charge)),
    )
  })

  test('creates one in the shop’s own currency', async () => {
    const local = { amount: '12.50', currency: 'EUR' }
    const charge = await Charge.create({ ...order, local_price: local })
    expect(charge.pricing).toMatchObject({ local })
    expect(await read(charge.id)).toMatchObject({ price: local, usd_amount: '13.75' })
  })

  test('reads each state by its timeline', async () => {
    const stands = async (state: 'seen' | 'final' | null, share?: bigint) => {
      const { id } = await Charge.create(order)
      if (state !== null) await pay(id, state, share)
      return lastOf(await Charge.retrieve(id))
    }
    expect(await stands(null)).toBe('NEW')
    expect(await stands('seen')).toBe('PENDING')
    expect(await stands('final')).toBe('COMPLETED')
    expect(await stands('final', 40n)).toBe('UNRESOLVED UNDERPAID')
    expect(await stands('final', 160n)).toBe('UNRESOLVED OVERPAID')
  })

  test('lists all charges through its own paging', async () => {
    const other = await addShop()
    commerce.Client.init(other.testKey, `${url}/compat/coinbase-commerce/`, undefined, 20_000)
    const made: string[] = []
    for (let number = 0; number < 5; number += 1) {
      made.push((await Charge.create(order)).id)
      api.time.advance(1)
    }
    const all: { id: string }[] = await Charge.all({ limit: 2 })
    expect(all.map(({ id }) => id)).toEqual([...made].reverse())
  })

  test('cancels and resolves', async () => {
    const ask = async (path: string) => {
      const answer = await fetch(`${url}/compat/coinbase-commerce/charges/${path}`, {
        method: 'POST',
        headers: { 'x-cc-api-key': merchant.testKey },
      })
      return { status: answer.status, body: await answer.json() }
    }
    const open = await Charge.create(order)
    expect(lastOf((await ask(`${open.code}/cancel`)).body.data)).toBe('CANCELED')
    expect(await ask(`${open.code}/cancel`)).toMatchObject({
      status: 409,
      body: { error: { type: 'invalid_request' } },
    })
    const short = await Charge.create(order)
    await pay(short.id, 'final', 40n)
    expect(lastOf((await ask(`${short.code}/resolve`)).body.data)).toBe('COMPLETED')
  })

  test('gets the error types that it knows', async () => {
    for (const wrong of [
      // The example of its library: the buyer chooses.
      { name: 'Test Name', description: 'Mastering', metadata: {}, payments: [], pricing_type: 'no_price' },
      { ...order, local_price: { amount: '10', currency: 'KWD' } },
      { ...order, local_price: { amount: '-1', currency: 'USD' } },
      { ...order, name: '' },
      { ...order, metadata: ['order-1'] },
      { ...order, metadata: { order_id: 'x'.repeat(256) } },
      { ...order, metadata: { email: 'nobody' } },
      { ...order, redirect_url: 'javascript:alert(1)' },
    ]) {
      expect(await failureOf(Charge.create(wrong)), JSON.stringify(wrong)).toBeInstanceOf(
        errors.ValidationError,
      )
    }
    expect(await failureOf(Charge.retrieve('ABCDEFGH'))).toBeInstanceOf(errors.ResourceNotFoundError)
    expect(await failureOf(commerce.resources.Checkout.list({}))).toBeInstanceOf(errors.ResourceNotFoundError)
    commerce.Client.init('sk_test_nonsense', `${url}/compat/coinbase-commerce/`, undefined, 20_000)
    expect(await failureOf(Charge.create(order))).toBeInstanceOf(errors.AuthenticationError)
  })
})
