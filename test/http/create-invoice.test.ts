import { afterAll, beforeAll, expect, test } from 'vitest'
import { BASE_URL, createTestApi, START, type TestApi, type TestMerchant } from '../support/api.ts'

let api: TestApi
let merchant: TestMerchant
beforeAll(async () => {
  api = await createTestApi()
  merchant = await api.addMerchant()
})
afterAll(() => api.drop())

const create = (body: unknown, key = merchant.testKey) => api.call('POST', '/invoices', { key, body })

test('an invoice in dollars is priced, addressed and answered in full', async () => {
  const answer = await create({
    usd_amount: '49.9',
    asset: 'LTC',
    customer_email: 'buyer@example.com',
    external_reference: 'order 1',
    metadata: { z: 1, a: [null, true, 'x'], '2': {}, '1': 0.25 },
    return_url: 'https://shop.example/orders/1?done=1#paid',
  })
  expect(answer.status).toBe(201)
  expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8')
  expect(answer.headers.get('request-id')).toMatch(/^req_[0-9a-f]{32}$/)
  const { id, address, checkout_url, payment_uri, ...rest } = answer.body
  expect(id).toMatch(/^inv_[0-9a-z]{26}$/)
  expect(address).toMatch(/^address-/)
  expect(checkout_url).toMatch(new RegExp(`^${BASE_URL}/i/[A-Za-z0-9_-]{66}$`))
  expect(payment_uri).toContain('0.59144246')
  expect(rest).toEqual({
    also_accepts: [],
    object: 'invoice',
    livemode: false,
    status: 'awaiting_payment',
    status_reason: null,
    token_rates: [],
    review_reason: null,
    usd_amount: '49.90',
    price: null,
    price_rate: null,
    amount_source: 'merchant',
    asset: 'LTC',
    amount: '0.59144246',
    amount_detected: '0',
    amount_confirmed: '0',
    amount_remaining: '0.59144246',
    rate: {
      usd_per_unit: '84.37',
      quoted_at: START.toISOString(),
      sources: [{ name: 'test', usd_per_unit: '84.37', at: START.toISOString() }],
    },
    allow_asset_selection: false,
    customer_email: 'buyer@example.com',
    external_reference: 'order 1',
    order_reference: null,
    description: null,
    expected_usd_amount: '49.90',
    checkout_session_id: null,
    payment_link_id: null,
    payment_link_name: null,
    metadata: { z: 1, a: [null, true, 'x'], '2': {}, '1': 0.25 },
    return_url: 'https://shop.example/orders/1?done=1#paid',
    expires_at: '2026-11-21T13:00:00.000Z',
    created_at: START.toISOString(),
    paid_at: null,
    cancelled_at: null,
    expiry_reading: null,
    reopened_from: null,
    payments: [],
    payments_count: 0,
    dust: [],
  })
})

test('a page to go back to is https, or in test mode on the own machine; anything else is refused by name', async () => {
  const body = (return_url: string) => ({ usd_amount: '20', asset: 'LTC', return_url })
  const local = 'http://localhost:3001/thanks'
  expect((await create(body(local))).body.return_url).toBe(local)
  for (const [url, key] of [
    [local, merchant.liveKey],
    ['http://shop.example/', merchant.testKey],
    ['//evil.example', merchant.testKey],
    ['javascript:alert(1)', merchant.testKey],
  ] as const) {
    const { status, body: answer } = await create(body(url), key)
    expect([status, answer.error.code, answer.error.param], url).toEqual([
      400,
      'parameter_invalid',
      'return_url',
    ])
  }
})
