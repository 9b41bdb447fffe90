// @module-tag php
// @module-tag python
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type App, makePlace, startApp } from '../support/app.ts'
import { until } from '../support/until.ts'
import {
  createShop,
  type ExampleReceiver,
  LANGUAGE_NAMES,
  type LanguageName,
  type Shop,
  startExample,
} from './example-receiver.ts'

/** The service itself verifies the examples' endpoints and delivers to them, as a merchant sets them up. */

const DELIVERED_MS_MAX = 120_000
let place: Awaited<ReturnType<typeof makePlace>>
let app: App
const shops: { language: LanguageName; shop: Shop; receiver: ExampleReceiver }[] = []

beforeAll(async () => {
  place = await makePlace()
  app = await startApp({ ...place, env: { WEBHOOK_ALLOW_PRIVATE: '1' } })
})
afterAll(async () => {
  for (const { receiver, shop } of shops) {
    await receiver.stop()
    await shop.drop()
  }
  await app?.stop()
  await place?.remove()
})

test('every example passes the verification of its endpoint', async () => {
  for (const language of LANGUAGE_NAMES) {
    const shop = await createShop()
    // The secret is known when the endpoint is made, and the endpoint's URL before: so the port is given twice.
    const provisional = await startExample(language, shop, ['whsec_none-yet'])
    const { url, port } = provisional
    await provisional.stop()
    const endpoint = await app.api('POST', '/api/v1/webhook-endpoints', { url, subscribed_events: ['*'] })
    expect(endpoint.status).toBe(201)
    const { id, secret } = endpoint.body as { id: string; secret: string }
    shops.push({ language, shop, receiver: await startExample(language, shop, [secret], port) })
    const verified = await app.api('POST', `/api/v1/webhook-endpoints/${id}/verify`)
    expect({ language, ...(verified.body as object) }).toMatchObject({ language, status: 'enabled' })
  }
})

test('a paid invoice fulfils the order at every example', async () => {
  const invoice = await app.api('POST', '/api/v1/invoices', {
    usd_amount: '12.50',
    asset: 'LTC',
    external_reference: 'order-1001',
  })
  const { id } = invoice.body as { id: string }
  for (const { shop } of shops) {
    await shop.pool.query(
      `insert into shop_order (reference, livemode, usd_amount, assets, invoice_id)
       values ('order-1001', false, '12.50', '{LTC}', $1)`,
      [id],
    )
  }
  await app.api('POST', `/api/v1/test/invoices/${id}/pay`, { scenario: 'two_parts' })
  for (const { language, shop, receiver } of shops) {
    const order = async () =>
      (await shop.pool.query<{ status: string; note: string | null }>('select status, note from shop_order'))
        .rows[0]
    await until(async () => (await order())?.status === 'fulfilled', { timeoutMs: DELIVERED_MS_MAX })
    expect({ language, ...(await order()) }).toEqual({ language, status: 'fulfilled', note: null })
    // It says so after its commit, which the order shows.
    await until(() => /stored invoice\.paid evt_/.test(receiver.log()), {
      what: `${language} says what it stored`,
    })
  }
})

test('the figures of the deliveries are served, and nothing is late', async () => {
  const text = await (await fetch(`${app.operatorUrl}/metrics`)).text()
  expect(text).toMatch(/^paylink_delivery_attempts_total\{code="ok"\} [1-9]/m)
  expect(text).toMatch(/^paylink_delivery_oldest_due_seconds \d/m)
  expect(text).toMatch(/^paylink_delivery_throttled_endpoints 0$/m)
  expect(text).toMatch(/^paylink_delivery_halted 0$/m)
})
