import { EVENT_FORMATS } from '../../src/compat/event-formats.ts'
import { storePaymentRules } from '../../src/db/invoices/payment-rules.ts'
import { startDeliveryWorker } from '../../src/delivery/worker.ts'
import { withTransaction } from '../../src/postgres/transaction.ts'
import { createTestApi, type TestAnswer, type TestApi, type TestMerchant } from './api.ts'
import { silentLog } from './webhook-fixtures.ts'
import { startReceiver, type WebhookReceiver } from './webhook-receiver.ts'

export const SHOP_FORMATS = ['btcpay', 'coinbase_commerce'] as const
export type ShopFormat = (typeof SHOP_FORMATS)[number]

export type WebhookShop = {
  readonly api: TestApi
  readonly receiver: WebhookReceiver
  /** A new merchant, paid in litecoin, whose receiver was sent nothing yet. */
  addMerchant(): Promise<TestMerchant>
  /** A request with the merchant's test key. */
  call(merchant: TestMerchant, method: string, path: string, body?: object): Promise<TestAnswer>
  /** An endpoint at the receiver, not yet verified. Returns it as the API shows it. */
  createEndpoint(
    merchant: TestMerchant,
    format: string,
    subscribedEvents?: readonly string[],
  ): Promise<TestAnswer['body']>
  /** An invoice of 12.50 dollars in litecoin. Returns it as the API shows it. */
  createInvoice(merchant: TestMerchant, fields?: object): Promise<TestAnswer['body']>
  /** Every pause of a retry is over. */
  hurry(): Promise<unknown>
  stop(): Promise<void>
}

/** Paylink with the formats of older services on, a worker that sends events, and the receiver of a shop. */
export async function startWebhookShop(): Promise<WebhookShop> {
  const api = await createTestApi({ webhookFormats: { known: EVENT_FORMATS, offered: SHOP_FORMATS } })
  const receiver = await startReceiver()
  const worker = await startDeliveryWorker({
    pool: api.database.pools.delivery,
    clock: () => new Date(),
    log: silentLog,
    keyring: api.deps.keyring,
    listenUrl: api.database.urls.delivery,
    allowPrivateTest: true,
    formats: EVENT_FORMATS,
  })
  const call: WebhookShop['call'] = (merchant, method, path, body) =>
    api.call(method, path, { key: merchant.testKey, ...(body === undefined ? {} : { body }) })
  const create = async (merchant: TestMerchant, path: string, body: object) => {
    const created = await call(merchant, 'POST', path, body)
    if (created.status !== 201) throw new Error(created.text)
    return created.body
  }
  return {
    api,
    receiver,
    call,
    addMerchant: async () => {
      // How old an event is counts in these formats.
      api.time.advance(Date.now() - api.time.now.getTime())
      const merchant = await api.addMerchant()
      const tenant = { merchantId: merchant.id, livemode: false }
      const rules = { document: { default_asset: 'LTC' }, now: api.time.now }
      await withTransaction(api.deps.pool, tenant, (tx) => storePaymentRules(tx, tenant, rules))
      receiver.events.length = 0
      return merchant
    },
    createEndpoint: (merchant, format, subscribedEvents = ['*']) =>
      create(merchant, '/webhook-endpoints', {
        url: receiver.url,
        subscribed_events: subscribedEvents,
        format,
      }),
    createInvoice: (merchant, fields = {}) =>
      create(merchant, '/invoices', { usd_amount: '12.50', asset: 'LTC', ...fields }),
    hurry: () => api.database.owner.query('update delivery set due_at = now() where lease_id is null'),
    stop: async () => {
      await worker.stop()
      await receiver.close()
      await api.drop()
    },
  }
}
